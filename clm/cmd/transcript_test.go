// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// transcript notes what was entered and what has appeared, as in a terminal, with what differs from run to run
// replaced.
type transcript struct {
	*place

	text strings.Builder
}

var (
	timePattern  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	agePattern   = regexp.MustCompile(`\b\d+(ms|s|m)(\d+s)?\b`)
	spacePattern = regexp.MustCompile(`([^ \n])  +`)
	filePattern  = regexp.MustCompile(`/[^ "]*/(\w+\.(yaml|plan))`)
)

// run runs clm, whatever comes of it.
func (s *transcript) run(args ...string) {
	s.Helper()
	s.note(s.clm(args...), args...)
}

// runOut runs clm as timesOut does.
func (s *transcript) runOut(sign string, args ...string) {
	s.Helper()
	s.note(s.timesOut(sign, args...), args...)
}

// note notes how clm has ended that was run with the arguments.
func (s *transcript) note(got result, args ...string) {
	fmt.Fprintf(&s.text, "$ clm %s\n%s%s", strings.Join(args, " "), got.stdout, got.stderr)
	if got.code != 0 {
		fmt.Fprintf(&s.text, "exit code %d\n", got.code)
	}
	s.text.WriteString("\n")
}

// stream runs clm and notes of each object only the last event: how many there are depends on how fast the cluster is.
func (s *transcript) stream(args ...string) {
	s.Helper()
	before := s.text.String()
	s.run(args...)
	said := strings.TrimPrefix(s.text.String(), before)
	s.text.Reset()
	s.text.WriteString(before)
	lines := strings.SplitAfter(said, "\n")
	for i, line := range lines {
		object := objectPattern.FindString(line)
		if object == "" || !slices.ContainsFunc(lines[i+1:], func(later string) bool { return strings.Contains(later, object) }) {
			s.text.WriteString(line)
		}
	}
}

// objectPattern matches what an event is about.
var objectPattern = regexp.MustCompile(`"object":\{[^}]*\}`)

// replace replaces what differs from run to run.
func (s *transcript) replace(pattern *regexp.Regexp, by string) {
	text := pattern.ReplaceAllString(s.text.String(), by)
	s.text.Reset()
	s.text.WriteString(text)
}

// expect compares all that was noted with a golden file.
func (s *transcript) expect(name string) {
	s.Helper()
	text := strings.ReplaceAll(s.text.String(), s.namespace, "PLACE")
	text = timePattern.ReplaceAllString(text, "TIME")
	text = agePattern.ReplaceAllString(text, "AGE")
	text = filePattern.ReplaceAllString(text, "$1")
	// How wide columns are depends on what was replaced.
	text = spacePattern.ReplaceAllString(text, "$1  ")
	expectGolden(s.T, name, text)
}

// TestTranscripts runs the commands one after the other as a person would.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	t.Run("people", func(t *testing.T) {
		t.Parallel()
		s := &transcript{place: newPlace(t)}
		first := s.file("first.yaml", configMap("a", "1")+configMap("b", "1"))
		second := s.file("second.yaml", configMap("a", "2")+configMap("c", "1"))
		none := s.file("none.yaml", configMap("d", "1"))
		s.run("apply", "web", first, "--dry-run=client")
		s.run("apply", "web", first)
		s.run("apply", "web", first)
		s.run("ls")
		s.run("plan", "web", second, "--exit-code")
		s.run("diff", "web", second, "--unified", "1")
		s.run("apply", "web", second, "--diff", "--max-deletions", "0")
		s.run("apply", "web", second)
		s.run("history", "web")
		s.run("get", "manifest", "web", "--revision", "1")
		s.run("get", "values", "web")
		s.run("apply", "web", none)
		s.run("rollback", "web", "7")
		s.run("rollback", "web")
		s.run("history", "web")
		s.run("delete", "web", "--dry-run")
		s.run("delete", "web")
		s.run("ls")
		s.run("ls", "--state", "lost")
		// Those of that name in other namespaces would be named.
		s.run("delete", "known-to-nobody")
		s.run("apply", "Web", first)
		s.run("apply", "web", "missing.yaml")
		s.run("apply", "web")
		s.expect("transcripts/people.txt")
	})
	t.Run("programs", func(t *testing.T) {
		t.Parallel()
		s := &transcript{place: newPlace(t)}
		first := s.file("first.yaml", configMap("a", "1"))
		s.run("apply", "web", first, "-o", "json")
		s.run("apply", "web", first, "-o", "json")
		s.run("ls", "-o", "json")
		s.run("ls", "-o", "name")
		s.run("ls", "-o", "jsonpath={.items[*].status.state}")
		s.run("ls", "-o", "table")
		s.run("history", "web", "-o", "yaml")
		s.run("get", "manifest", "web", "-o", "json")
		s.run("get", "values", "web", "-o", "json")
		s.run("rollback", "web", "1", "-o", "json")
		s.run("delete", "web", "-o", "json")
		s.expect("transcripts/programs.txt")
	})
}
