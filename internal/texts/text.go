// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package texts shortens and compares texts, and removes values from messages and from Secrets.
//
// # Redaction
//
// An API server that refuses an object quotes the refused values. More people can read the places that show such
// messages (conditions, events, logs and terminals) than can read the object. Redacted messages keep the field and the
// rule. Strings are removed for all kinds, because objects of any kind may contain secrets. Exceptions are names,
// quantities, names of types, and fields with a fixed set of values. Numbers and booleans remain, except in the
// contents of Secrets and ConfigMaps and in environment variables. If a request is about a Secret, the values of the
// Secret are removed wherever they occur in the message.
//
// The texts of the cluster's policies and admission webhooks cannot be parsed. They stay the same, apart from values of
// Secrets.
package texts

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mark is the replacement for a value.
const Mark = "***"

// rejected matches the text before a value in the error about a field.
var rejected = regexp.MustCompile(`(\S*?): (?:Invalid value|Duplicate value|(Unsupported value)|Not found): `)

// nameField matches fields whose strings are names or quantities.
var nameField = regexp.MustCompile(`(?:^|\.)(?:apiVersion|kind|uid|resourceVersion|finalizers|name|namespace|\w*Name|\w*Namespace|targetPort|(?:requests|limits)(?:\[\S+\])?)$`)

// secretField matches fields with secret values of any type: values of environment variables, and the contents of
// Secrets. Fields of ConfigMaps match as well, because they have the same names.
var secretField = regexp.MustCompile(`^\.?(?:data|stringData|binaryData)\b|` + envValue)

const envValue = `(?:^|\.)\w*[eE]nv\w*(?:\[[^\]]*\])?\.(?:value|[A-Z][A-Z0-9_]*)$`

// EnvValue matches the paths of values of environment variables.
var EnvValue = regexp.MustCompile(envValue)

// types are texts that the API server prints instead of a value of a wrong type.
var types = []string{"", "string", "integer", "number", "boolean", "object", "array"}

// isShown decides whether a value is kept. Strings are quoted. Enumerated means that the field has a fixed set of
// values.
func isShown(field, value string, enumerated bool) bool {
	text, err := strconv.Unquote(value)
	isString := err == nil
	if !isString {
		text = value
	}
	_, err = strconv.ParseFloat(value, 64)
	switch {
	case slices.Contains(types, text), text == "<value omitted>", text == Mark:
		return true // it is none of the object's values
	case secretField.MatchString(field):
		return false
	case err == nil, text == "true", text == "false", text == "null":
		return true
	default:
		return isString && (enumerated || nameField.MatchString(field))
	}
}

// quoting contains further patterns of texts that quote values, with their replacements.
var quoting = []struct {
	pattern *regexp.Regexp
	remains string
}{
	{regexp.MustCompile(`(?s)Object '(\w+)' is missing in '.*'`), "Object '$1' is missing"},
	// A number in place of a string may be a secret without quotes.
	{regexp.MustCompile(`cannot unmarshal number \S+ (into Go (?:value|struct field \S+) of type (?:string|\[\]))`), "cannot unmarshal number $1"},
	{regexp.MustCompile(`(?s)((?:parsing|cannot parse|unable to parse|failed to parse|could not parse)(?: time)? )"(?:[^"\\]|\\.)*"`), "${1}" + Mark},
	{regexp.MustCompile(`(?s)\.\.\.\|.*\|\.\.\.`), "...|" + Mark + "|..."},
}

// goValue matches the beginning of a value that the server's merging code prints, expected the text about its field
// before that, and member an item of a set in a path.
var (
	goValue  = regexp.MustCompile(`(?:&?value\.)?value[A-Z][A-Za-z]*\{|&\{`)
	expected = regexp.MustCompile(`(\S+): expected (\w+)[^\n]*, got $`)
	member   = regexp.MustCompile(`(\S*?)\[=("(?:[^"\\]|\\.)*")\]`)
)

// Text returns the message without the values that it quotes, except for those that isShown allows. It is idempotent.
func Text(message string) string {
	message = fieldValues(goValues(message))
	message = member.ReplaceAllStringFunc(message, func(item string) string {
		if parts := member.FindStringSubmatch(item); !isShown(parts[1], parts[2], false) {
			return parts[1] + "[=" + Mark + "]"
		}
		return item
	})
	for _, quote := range quoting {
		message = quote.pattern.ReplaceAllString(message, quote.remains)
	}
	return message
}

// goValues removes values in the syntax of Go.
func goValues(message string) string {
	var out strings.Builder
	for {
		found := goValue.FindStringIndex(message)
		if found == nil {
			return out.String() + message
		}
		before, rest := message[:found[0]], message[found[1]-1:]
		length := braces(rest)
		if message[found[0]:found[1]] == "&{" {
			// Strings in it have no quotes. Further errors are on separate lines.
			end := strings.Index(rest+"\n  .", "\n  .")
			length = max(length, strings.LastIndexByte(rest[:end], '}')+1)
		}
		out.WriteString(before)
		out.WriteString(shownGoValue(before, strings.TrimSuffix(strings.TrimPrefix(rest[1:length], "Value:"), "}")))
		message = rest[length:]
	}
}

// shownGoValue returns the value, or Mark. A number where no boolean is expected may be a string without quotes.
func shownGoValue(before, value string) string {
	place := expected.FindStringSubmatch(before)
	if place == nil || strings.ContainsAny(value, "{[") {
		return Mark
	}
	form := value
	if place[2] != "boolean" {
		form = strconv.Quote(value)
	}
	if !isShown(place[1], form, false) {
		return Mark
	}
	return value
}

// braces returns the length of the prefix in braces or brackets, up to the closing one; the whole length if it is
// missing.
func braces(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '`':
			i += quoted(text[i:]) - 1
		}
	}
	return len(text)
}

// quoted returns the length of the quoted prefix, up to the next quote; the whole length if it is missing.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == text[0]:
			return i + 1
		case text[i] == '\\' && text[0] == '"':
			i++
		}
	}
	return len(text)
}

// fieldValues removes values from errors about fields, including later repetitions in the same error.
func fieldValues(message string) string {
	var out strings.Builder
	for {
		found := rejected.FindStringSubmatchIndex(message)
		if found == nil {
			return out.String() + message
		}
		field, enumerated := strings.TrimLeft(message[found[2]:found[3]], "["), found[4] >= 0
		out.WriteString(message[:found[1]])
		message = message[found[1]:]
		length := valueLength(message)
		value, rest := message[:length], message[length:]
		if isShown(field, value, enumerated) {
			out.WriteString(value)
			message = rest
			continue
		}
		if plain, err := strconv.Unquote(value); err == nil {
			value = plain
		}
		out.WriteString(Mark)
		message = without(rest, value)
	}
}

// valueLength returns the length of the value at the beginning of a text.
func valueLength(text string) int {
	switch {
	case text == "":
		return 0
	case text[0] == '"':
		return quoted(text)
	case text[0] == '{' || text[0] == '[':
		decoder := json.NewDecoder(strings.NewReader(text))
		var value json.RawMessage
		if err := decoder.Decode(&value); err == nil {
			return int(decoder.InputOffset())
		}
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			i += braces(text[i:]) - 1
		case ':', ',', ']', '\n':
			return i
		}
	}
	return len(text)
}

// without removes quotations of a value.
func without(text string, value string) string {
	for _, form := range []string{strconv.Quote(value), "'" + value + "'", "`" + value + "`"} {
		text = strings.ReplaceAll(text, form, Mark)
	}
	if len(value) >= ShortestSecret {
		text = strings.ReplaceAll(text, value, Mark)
	}
	return text
}

// Error returns an error whose text quotes no values; nil for nil. The result is or wraps the given error.
func Error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); Text(text) != text {
		return &redacted{err: err}
	}
	return err
}

type redacted struct{ err error }

// Error returns the redacted text.
func (e *redacted) Error() string { return Text(e.err.Error()) }

// Unwrap returns the error that may quote values.
func (e *redacted) Unwrap() error { return e.err }

// Status removes values from an API server's response, and reports whether it removed any. The body is that of the
// request if that is a Secret, and nil otherwise.
func Status(status *metav1.Status, body []byte) bool {
	before := status.Message
	status.Message = SecretText(status.Message, body)
	changed := status.Message != before
	if status.Details == nil {
		return changed
	}
	for i := range status.Details.Causes {
		cause := &status.Details.Causes[i]
		field := Text(cause.Field)
		changed = changed || field != cause.Field
		cause.Field = field
		// The message of a cause is that of the field error without the field.
		prefix := cause.Field + ": "
		message := SecretText(prefix+cause.Message, body)
		if len(message) < len(prefix) || message[:len(prefix)] != prefix {
			message = prefix + Mark
		}
		changed = changed || message[len(prefix):] != cause.Message
		cause.Message = message[len(prefix):]
	}
	return changed
}

const (
	// ShortestSecret is the minimum length, in bytes, of values that are removed wherever they occur. Shorter values
	// are part of too many words.
	ShortestSecret = 8
	// lastApplied is the annotation with kubectl's copy of the manifest, including the values of a Secret.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// Secret returns a copy of a Secret with its values replaced by mask, which is called with the decoded values in the
// order of their keys. It returns other objects unchanged.
func Secret(object map[string]any, mask func(value string) any) map[string]any {
	if object["apiVersion"] != "v1" || object["kind"] != "Secret" {
		return object
	}
	object = maps.Clone(object)
	plain := func(value string) string { return value }
	maskField(object, "data", decoded, mask)
	maskField(object, "stringData", plain, mask)
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations[lastApplied] != nil {
		metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
		annotations[lastApplied] = maskValue(annotations[lastApplied], plain, mask)
		metadata["annotations"], object["metadata"] = annotations, metadata
	}
	return object
}

func decoded(value string) string {
	if plain, err := base64.StdEncoding.DecodeString(value); err == nil {
		return string(plain)
	}
	return value
}

// maskField masks the values of a field of any type.
func maskField(object map[string]any, field string, decode func(string) string, mask func(string) any) {
	switch value := object[field].(type) {
	case nil:
	case map[string]any:
		values := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			values[key] = maskValue(value[key], decode, mask)
		}
		object[field] = values
	default:
		object[field] = maskValue(value, decode, mask)
	}
}

func maskValue(value any, decode func(string) string, mask func(string) any) any {
	if text, ok := value.(string); ok {
		return mask(decode(text))
	}
	return mask(fmt.Sprint(value))
}

// SecretText is Text for a message about a request whose body is a Secret in JSON. It removes the Secret's values of 8
// bytes and more wherever they occur.
func SecretText(message string, body []byte) string {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return Text(message)
	}
	var values []string
	Secret(object, func(value string) any {
		values = append(values, value)
		return nil
	})
	// Longest first, because a value may be part of another.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, value := range values {
		if len(value) < ShortestSecret {
			continue
		}
		quoted := fmt.Sprintf("%q", value)
		for _, form := range []string{value, quoted[1 : len(quoted)-1], base64.StdEncoding.EncodeToString([]byte(value))} {
			message = strings.ReplaceAll(message, form, Mark)
		}
	}
	return Text(message)
}

// Nearest returns the candidate that a misspelt word most likely stands for; empty if there is none. Its distance is 1,
// or at most 2 for words of six characters and more. Words of less than four characters are too similar. The nearest
// one wins, or the first of several.
func Nearest(word string, candidates []string) string {
	best, least := "", 3
	switch {
	case len(word) < 4:
		least = 1
	case len(word) < 6:
		least = 2
	}
	for _, candidate := range candidates {
		if d := Distance(word, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// Distance returns the number of characters to insert, delete, replace, or swap with the next one, to turn one text
// into the other (optimal string alignment).
func Distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

const ellipsis = "…"

// Truncate returns a text of at most limit bytes. A longer text is cut between two characters and ends with an
// ellipsis. Invalid UTF-8 becomes a question mark. The limit must be greater than 3.
func Truncate(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= limit {
		return text
	}
	end := limit - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
