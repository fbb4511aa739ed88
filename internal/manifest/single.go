// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort" //nolint:depguard // slices has no search by a condition

	"go.yaml.in/yaml/v2"
)

// SecondValueError means that a document has several values, such as {…} after {…}. Decoders take the first one, and
// silently drop the others.
type SecondValueError struct {
	// Line is the line of the second value, from 1.
	Line int
}

// Error names the line.
func (e *SecondValueError) Error() string {
	return fmt.Sprintf("line %d: another value begins here; a document may contain only one, and documents are separated by lines with ---", e.Line)
}

// CheckSingle returns a *SecondValueError if a text has more than one value, with or without separators. Documents
// without content do not count. It accepts invalid YAML, which the decoder refuses. It fails as CheckSize does.
func CheckSingle(text []byte) error {
	if err := CheckSize(text); err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var content any
	for content == nil {
		if decoder.Decode(&content) != nil {
			return nil
		}
	}
	if hasMore(decoder) {
		return &SecondValueError{Line: lineOfSecond(text)}
	}
	return nil
}

// CheckSeparated returns a *SecondValueError if one of the documents of a text, which lines with --- separate, has more
// than one value. It accepts invalid YAML, which the decoder refuses. It fails as CheckSize does.
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

// lineOfSecond returns the line of the second value: the first line such that the text up to it has more than one
// value.
func lineOfSecond(text []byte) int {
	lines := slices.Collect(bytes.Lines(text))
	return 1 + sort.Search(len(lines)-1, func(i int) bool {
		decoder := yaml.NewDecoder(bytes.NewReader(bytes.Join(lines[:i+1], nil)))
		var content any
		for content == nil {
			if decoder.Decode(&content) != nil {
				return false
			}
		}
		return hasMore(decoder)
	})
}
