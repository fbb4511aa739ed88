// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package annotations

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kebab turns CamelCase and camelCase into kebab-case; kebab-case stays as it is.
func Kebab(text string) string {
	var out strings.Builder
	runes := []rune(text)
	for i, r := range runes {
		if unicode.IsUpper(r) {
			if i > 0 && runes[i-1] != '-' && (!unicode.IsUpper(runes[i-1]) || (i+1 < len(runes) && unicode.IsLower(runes[i+1]))) {
				out.WriteByte('-')
			}
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}

// Camel turns a kebab-case value into the CamelCase of inventories and specs.
func Camel(kebab string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(kebab, "-") {
		first, size := utf8.DecodeRuneInString(word)
		if size > 0 {
			out.WriteRune(unicode.ToUpper(first))
			out.WriteString(word[size:])
		}
	}
	return out.String()
}
