// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// bullet starts each finding in the report of the schema validation. Findings are indented below what they
// explain, by this many blanks per level.
const (
	bullet      = "- "
	indentation = 2
)

// typeMismatch is the SDK's error if the values for a dependency are not a map; its format is broken.
var typeMismatch = regexp.MustCompile(`type mismatch on (\S+): %!t\(.*\)`)

// readable returns an error about values with a readable text. It does not wrap the SDK's error, which has
// nothing to unwrap.
func readable(err error) error {
	return errors.New(stableReport(typeMismatch.ReplaceAllString(err.Error(), "the values of dependency $1 are not a map")))
}

// maxCalls is how many of the calls that led to an error are shown.
const maxCalls = 4

var call = regexp.MustCompile(`error calling (?:include|tpl): `)

// located returns an error of a template with a readable text, which names the template where rendering
// began and the place that failed.
func located(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	var refused *refusal
	switch calls := call.Split(text, -1); {
	case errors.As(err, &refused):
		place, _, _ := strings.Cut(text, ": ")
		return &templateError{fmt.Sprintf("execution error at (%s): %s", place, refused.message), err}
	case len(calls) > maxCalls:
		return &templateError{fmt.Sprintf("%s%d calls further: %s", calls[0], len(calls)-1, calls[len(calls)-1]), err}
	default:
		return err
	}
}

type templateError struct {
	text string
	err  error
}

func (e *templateError) Error() string { return e.text }

func (e *templateError) Unwrap() error { return e.err }

var additionalProperties = regexp.MustCompile(`(additional properties )(.*)( not allowed)$`)

// stableReport sorts the findings of the schema validation, which come in random order, because status messages
// must be stable. Other lines (the names of charts) stay where they are.
func stableReport(report string) string {
	var out, findings []string
	flush := func() {
		out = append(out, sortFindings(findings, 0)...)
		findings = nil
	}
	for _, line := range strings.Split(strings.TrimSpace(report), "\n") {
		switch {
		case strings.HasPrefix(strings.TrimLeft(line, " "), bullet):
			findings = append(findings, sortProperties(line))
		default:
			flush()
			out = append(out, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// sortFindings sorts the findings of one level, each of them followed by its explanations.
func sortFindings(lines []string, level int) []string {
	prefix := strings.Repeat(" ", level*indentation) + bullet
	var groups [][]string
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) || len(groups) == 0 {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], line)
	}
	for i, group := range groups {
		if len(group) > 1 {
			groups[i] = append(group[:1:1], sortFindings(group[1:], level+1)...)
		}
	}
	slices.SortStableFunc(groups, slices.Compare)
	return slices.Concat(groups...)
}

func sortProperties(line string) string {
	parts := additionalProperties.FindStringSubmatch(line)
	if parts == nil {
		return line
	}
	names := strings.Split(parts[2], ", ")
	slices.Sort(names)
	return strings.TrimSuffix(line, parts[0]) + parts[1] + strings.Join(names, ", ") + parts[3]
}
