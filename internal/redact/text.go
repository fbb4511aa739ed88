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

// Mark takes the place of a value.
const Mark = "***"

// rejected precedes a value in the error about a field.
var rejected = regexp.MustCompile(`(\S*?): (?:Invalid value|Duplicate value|Unsupported value|Not found): `)

// identifying are fields whose values say which object is meant.
var identifying = []string{"metadata.name", "metadata.generateName", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "apiVersion", "kind"}

// types are what stands in place of a value of a wrong type.
var types = []string{"", "null", "true", "false", "string", "integer", "number", "boolean", "object", "array"}

// quoting are other texts that quote values, each with what remains of it.
var quoting = []struct {
	pattern *regexp.Regexp
	remains string
}{
	{regexp.MustCompile(`(?s)Object '(\w+)' is missing in '.*'`), "Object '$1' is missing"},
	{regexp.MustCompile(`cannot unmarshal number \S+ into`), "cannot unmarshal number into"},
	{regexp.MustCompile(`(?s)((?:parsing|cannot parse|unable to parse|failed to parse|could not parse)(?: time)? )"(?:[^"\\]|\\.)*"`), "${1}" + Mark},
	{regexp.MustCompile(`(?s)\.\.\.\|.*\|\.\.\.`), "...|" + Mark + "|..."},
}

// goValue begins a value as the server prints it that merges objects.
var goValue = regexp.MustCompile(`(?:&?value\.)?value[A-Z][A-Za-z]*\{`)

// Text returns the message without the values that it quotes. What it returns is left as it is by another call.
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

// braces returns the length of what begins with a brace or bracket and ends with its counterpart, or of all if there is none.
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

// quoted returns the length of what begins with a quote and ends with the next one, or of all if there is none.
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

// fieldValues removes values from errors about fields, together with what follows that quotes them again.
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
