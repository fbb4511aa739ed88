// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Mark replaces a value.
const Mark = "***"

// rejected precedes a value in the error about a field.
var rejected = regexp.MustCompile(`(\S*?): (?:Invalid value|Duplicate value|Unsupported value|Not found): `)

// identifying are fields whose values identify the object.
var identifying = []string{"metadata.name", "metadata.generateName", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "apiVersion", "kind"}

// types are the texts that replace a value of a wrong type.
var types = []string{"", "null", "true", "false", "string", "integer", "number", "boolean", "object", "array"}

// quoting are other texts that quote values, each with its replacement.
var quoting = []struct {
	pattern *regexp.Regexp
	remains string
}{
	{regexp.MustCompile(`(?s)Object '(\w+)' is missing in '.*'`), "Object '$1' is missing"},
	{regexp.MustCompile(`cannot unmarshal number \S+ into`), "cannot unmarshal number into"},
	{regexp.MustCompile(`(?s)((?:parsing|cannot parse|unable to parse|failed to parse|could not parse)(?: time)? )"(?:[^"\\]|\\.)*"`), "${1}" + Mark},
	{regexp.MustCompile(`(?s)\.\.\.\|.*\|\.\.\.`), "...|" + Mark + "|..."},
}

// goValue is how a value begins that the server's merging code prints.
var goValue = regexp.MustCompile(`(?:&?value\.)?value[A-Z][A-Za-z]*\{`)

// Text returns the message without the values that it quotes. It is idempotent.
func Text(message string) string {
	message = fieldValues(goValues(message))
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
		out.WriteString(message[:found[0]] + Mark)
		message = message[found[1]-1:]
		message = message[braces(message):]
	}
}

// braces returns the length of a text in braces or brackets up to its closing counterpart, or the whole length if there is none.
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

// quoted returns the length of a text in quotes up to the next quote, or the whole length if there is none.
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
		field := strings.TrimLeft(message[found[2]:found[3]], "[")
		out.WriteString(message[:found[1]])
		message = message[found[1]:]
		length := valueLength(message)
		value, rest := message[:length], message[length:]
		if plain, err := strconv.Unquote(value); err == nil {
			value = plain
		}
		if slices.Contains(identifying, field) || slices.Contains(types, value) || value == "<value omitted>" || value == Mark {
			out.WriteString(message[:length])
			message = rest
		} else {
			out.WriteString(Mark)
			message = without(rest, value)
		}
	}
}

// valueLength returns the length of the value with which a text begins.
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

// without removes what quotes a value.
func without(text string, value string) string {
	for _, form := range []string{strconv.Quote(value), "'" + value + "'", "`" + value + "`"} {
		text = strings.ReplaceAll(text, form, Mark)
	}
	if len(value) >= shortestSecret {
		text = strings.ReplaceAll(text, value, Mark)
	}
	return text
}
