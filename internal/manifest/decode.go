// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort" //nolint:depguard // slices has no search by a condition
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
)

// ErrAmbiguousKey means that a map has two keys such as 1 and "1". Which one would win is random.
var ErrAmbiguousKey = errors.New("the same key occurs in two notations")

// maxWholeFloat is the value from which JSON encodes whole numbers with an exponent.
const maxWholeFloat = 1e21

// Decode returns the content of a YAML document like Kubernetes does. Kubernetes converts the document to JSON and
// decodes that; skipping the JSON saves a third of the time. Like Kubernetes, Decode reads YAML 1.1, and the last of
// several equal keys wins. The content consists of maps with string keys, slices, strings, bools, int64 and float64; it
// is nil if the document contains only blanks and comments. Unlike Kubernetes, which uses the first of several values,
// Decode returns a *SecondValueError if there is more than one. It fails if CheckSize does.
func Decode(document []byte) (any, error) {
	return decode(document, false)
}

// DecodeUnique is Decode, except that it returns an *EqualKeysError if a key occurs twice in a map. A key may override
// one from a merge key (<<).
func DecodeUnique(document []byte) (any, error) {
	content, err := decode(document, true)
	var mistyped *yaml.TypeError
	if !errors.As(err, &mistyped) {
		return content, err
	}
	if equal := findEqualKeys(document); equal != nil {
		return nil, equal
	}
	return Decode(document)
}

// decode implements Decode. If strict is true, a TypeError reports duplicate keys, including keys that override those
// of a merge key.
func decode(document []byte, strict bool) (any, error) {
	if err := CheckSize(document); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(document))
	decoder.SetStrict(strict)
	var content any
	if err := decoder.Decode(&content); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if hasMore(decoder) {
		return nil, &SecondValueError{Line: lineOfSecond(document)}
	}
	return fromYAML(content)
}

// fromYAML converts the result of the YAML library to maps with string keys, slices, strings, bools, int64 and float64.
func fromYAML(value any) (any, error) {
	switch value := value.(type) {
	case map[any]any:
		return mapFromYAML(value)
	case []any:
		for i, item := range value {
			converted, err := fromYAML(item)
			if err != nil {
				return nil, err
			}
			value[i] = converted
		}
		return value, nil
	case string:
		return validText(value), nil
	case int:
		return int64(value), nil
	case uint64:
		// It is larger than an int64.
		return float64(value), nil
	case float64:
		return fromFloat(value)
	default:
		return value, nil
	}
}

// validText replaces invalid bytes, which only binary data contain.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

func fromFloat(value float64) (any, error) {
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return nil, fmt.Errorf("unsupported value: %v", value)
	case value == math.Trunc(value) && math.Abs(value) < maxWholeFloat:
		// In JSON it is a whole number.
		if whole, err := strconv.ParseInt(strconv.FormatFloat(value, 'f', -1, 64), 10, 64); err == nil {
			return whole, nil
		}
	}
	return value, nil
}

func mapFromYAML(value map[any]any) (any, error) {
	converted := make(map[string]any, len(value))
	for key, item := range value {
		name, err := keyFromYAML(key)
		if err != nil {
			return nil, err
		}
		if _, ok := converted[name]; ok {
			return nil, fmt.Errorf("%w: %q", ErrAmbiguousKey, name)
		}
		if converted[name], err = fromYAML(item); err != nil {
			return nil, err
		}
	}
	return converted, nil
}

func keyFromYAML(key any) (string, error) {
	switch key := key.(type) {
	case string:
		return validText(key), nil
	case int:
		return strconv.Itoa(key), nil
	case bool:
		return strconv.FormatBool(key), nil
	case float64:
		// This precision is the one that Kubernetes uses.
		return strconv.FormatFloat(key, 'g', -1, 32), nil
	default:
		return "", fmt.Errorf("a key is %v, but must be text", Describe(key))
	}
}

// EqualKeysError means that a key occurs twice in a map. Decoders silently drop all but the last one.
type EqualKeysError struct {
	// Key is the key.
	Key string
	// Line and First are the lines of the key and of its first occurrence, from 1.
	Line, First int
}

// Error returns a text with the key and both lines.
func (e *EqualKeysError) Error() string {
	return fmt.Sprintf("line %d: key %q is already set on line %d; a key may occur only once in a map", e.Line, e.Key, e.First)
}

// findEqualKeys returns an error about the first duplicate key of a document, if there is one.
func findEqualKeys(document []byte) *EqualKeysError {
	var root yamlv3.Node
	if yamlv3.Unmarshal(document, &root) != nil {
		return nil
	}
	return equalKeysIn(&root)
}

func equalKeysIn(node *yamlv3.Node) *EqualKeysError {
	seen := map[[2]string]int{}
	for i, child := range node.Content {
		if node.Kind == yamlv3.MappingNode && i%2 == 0 && child.Kind == yamlv3.ScalarNode && child.ShortTag() != "!!merge" {
			key := [2]string{child.ShortTag(), child.Value}
			if first := seen[key]; first > 0 {
				return &EqualKeysError{Key: child.Value, Line: child.Line, First: first}
			}
			seen[key] = child.Line
		}
		if equal := equalKeysIn(child); equal != nil {
			return equal
		}
	}
	return nil
}

// SecondValueError means that a document has several values, such as {…} after {…}. Decoders silently drop all but the
// first one.
type SecondValueError struct {
	// Line is the line of the second value, from 1.
	Line int
}

// Error returns a text with the line.
func (e *SecondValueError) Error() string {
	return fmt.Sprintf("line %d: another value begins here; a document may contain only one, and documents are separated by lines with ---", e.Line)
}

// CheckSingle returns a *SecondValueError if a text has more than one value, with or without separators. Documents
// without content do not count. It accepts invalid YAML, which the decoder refuses. It fails if CheckSize does.
func CheckSingle(text []byte) error {
	if err := CheckSize(text); err != nil {
		return err
	}
	if hasSecond(text) {
		return &SecondValueError{Line: lineOfSecond(text)}
	}
	return nil
}

// hasSecond reports whether a text has more than one value. It returns false if the first one cannot be decoded.
func hasSecond(text []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var content any
	for content == nil {
		if decoder.Decode(&content) != nil {
			return false
		}
	}
	return hasMore(decoder)
}

// CheckSeparated returns a *SecondValueError if a document of a text, in which lines with --- separate documents, has
// more than one value. It accepts invalid YAML, which the decoder refuses. It fails if CheckSize does.
func CheckSeparated(text []byte) error {
	if err := CheckSize(text); err != nil {
		return err
	}
	begin, offset, line, first := 0, 0, 0, 1
	check := func(end int) error {
		document := text[begin:end]
		if !isSuspect(document) {
			return nil
		}
		if second, ok := CheckSingle(document).(*SecondValueError); ok { //nolint:errorlint // it is not wrapped
			return &SecondValueError{Line: first + second.Line - 1}
		}
		return nil
	}
	for content := range bytes.Lines(text) {
		line++
		if bytes.HasPrefix(content, []byte("---")) {
			if err := check(offset); err != nil {
				return err
			}
			begin, first = offset+len("---"), line
		}
		offset += len(content)
	}
	return check(offset)
}

// isSuspect reports whether a document may have several values. A block-style collection that begins at the start of a
// line lasts until the end of the document, so it needs no further check. This is cheaper than decoding.
func isSuspect(document []byte) bool {
	begun := false
	for line := range bytes.Lines(document) {
		if bytes.HasPrefix(line, []byte("...")) {
			return true
		}
		if content := bytes.TrimSpace(line); begun || len(content) == 0 || content[0] == '#' {
			continue
		}
		begun = true
		if letter := line[0] | 0x20; line[0] != '-' && (letter < 'a' || letter > 'z') || !bytes.ContainsAny(line, ":-") {
			return true
		}
	}
	return false
}

// hasMore reports whether any content is left.
func hasMore(decoder *yaml.Decoder) bool {
	for {
		var more any
		switch err := decoder.Decode(&more); {
		case err != nil:
			return !errors.Is(err, io.EOF)
		case more != nil:
			return true
		}
	}
}

// lineOfSecond returns the line of the second value: the first line up to which the text has more than one value.
func lineOfSecond(text []byte) int {
	lines := slices.Collect(bytes.Lines(text))
	return 1 + sort.Search(len(lines)-1, func(i int) bool { return hasSecond(bytes.Join(lines[:i+1], nil)) })
}

const (
	// maxValues is the maximum number of values in a text, because each takes up to 600 bytes during decoding. The
	// index of a repository has as many in about 50 MiB.
	maxValues = 3 << 20
	// maxGrowth is the maximum factor by which replacing aliases may increase the size of a text, apart from freeGrowth
	// bytes: objects are encoded without aliases.
	maxGrowth, freeGrowth = 8, 64 << 10
	// valueSize is the size that counts for a value in addition to its text.
	valueSize = 8
)

// CheckSize fails if decoding YAML texts would take much more memory than their length suggests. It accepts invalid
// YAML, which the decoder refuses.
func CheckSize(texts ...[]byte) error {
	length := 0
	for _, text := range texts {
		length += len(text)
	}
	if length > maxValues { // there are not more values than bytes
		if values := countYAML(texts); values > maxValues {
			return fmt.Errorf("it has about %d values; at most %d are allowed", values, maxValues)
		}
	}
	limit := maxGrowth*length + freeGrowth
	left := limit
	for _, text := range texts {
		if !hasAliases(text) {
			continue
		}
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var content any
			if decoder.Decode(&content) != nil {
				break
			}
			if left = without(left, content); left < 0 {
				return fmt.Errorf("with its aliases replaced, it has more than %d bytes, which is the limit for a text of %d bytes", limit, length)
			}
		}
	}
	return nil
}

// hasAliases reports whether a text may have anchors and aliases.
func hasAliases(text []byte) bool {
	return hasReference(text, '&') && hasReference(text, '*')
}

// hasReference reports whether a sign may begin a value. YAML also has line breaks outside of ASCII, and may be in
// UTF-16.
func hasReference(text []byte, sign byte) bool {
	for at := 0; ; at++ {
		next := bytes.IndexByte(text[at:], sign)
		if next < 0 {
			return false
		}
		at += next
		begins := at == 0 || text[at-1] >= utf8.RuneSelf || strings.ContainsRune("\x00 \t\r\n,[{:-", rune(text[at-1]))
		if begins && at+1 < len(text) && !strings.ContainsRune(" \t\r\n", rune(text[at+1])) {
			return true
		}
	}
}

// without subtracts the size of a value from a number of bytes. The result is negative if there are too few.
func without(left int, value any) int {
	left -= valueSize
	switch value := value.(type) {
	case string:
		left -= len(value)
	case []any:
		for i := 0; i < len(value) && left >= 0; i++ {
			left = without(left, value[i])
		}
	case map[any]any:
		for key, item := range value {
			if left = without(without(left, key), item); left < 0 {
				break
			}
		}
	}
	return left
}

// CheckJSON returns an error if JSON texts together may have more than limit values: objects, lists, and every further
// element or field in these. A value may take a hundred times as much memory as its text, so texts from untrusted
// clients are checked before they are decoded. CheckJSON needs no memory. It does not check whether the texts are
// valid.
func CheckJSON(limit int, texts ...[]byte) error {
	values := 0
	for _, text := range texts {
		quoted := false
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c == '"':
				quoted = !quoted
			case quoted && c == '\\':
				i++
			case !quoted && (c == ',' || c == '[' || c == '{'):
				values++
			}
		}
	}
	return checkValues(values, limit)
}

// CheckYAML is CheckJSON for YAML. It may count parts of strings as values.
func CheckYAML(limit int, texts ...[]byte) error { return checkValues(countYAML(texts), limit) }

// countYAML returns an upper limit for the number of values in texts. It needs no memory.
func countYAML(texts [][]byte) int {
	values := 0
	for _, text := range texts {
		for _, mark := range []string{"\n", ",", "[", "{", "- ", ": ", "? "} {
			values += bytes.Count(text, []byte(mark))
		}
	}
	return values
}

func checkValues(values, limit int) error {
	if values > limit {
		return fmt.Errorf("it has %d values; must be at most %d", values, limit)
	}
	return nil
}
