// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// What a chart or kustomization says gets into files of the project through the functions below, through packages that
// marshal YAML, or as declarations of package values.

// bare are texts that need no quotes in YAML unless they are something else than text, such as true.
var bare = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9./_-]*$`)

// yamlText returns a text as a scalar of YAML. In a template, it is that text, too, and nothing that is evaluated.
func yamlText(text string) string {
	var parsed any
	if err := yaml.Unmarshal([]byte(text), &parsed); err == nil && parsed == text && bare.MatchString(text) {
		return text
	}
	return strings.ReplaceAll(strconv.Quote(text), "{", `\x7b`)
}

// markup are the characters with which Markdown begins a cell, HTML, a link or an escape, and templates an action.
var markup = regexp.MustCompile(`[\\|<\[{]`)

// markdown returns a text so that it stays where it is put in Markdown, or in a comment of Go: in its cell, item or
// line. Backticks stay: they reach no further.
func markdown(text string) string {
	return markup.ReplaceAllString(strings.Join(strings.Fields(text), " "), `\$0`)
}
