// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// maxUnready is how many objects that are not ready the outcome names; the others are counted.
const maxUnready = 20

// summary is what is said at the end, to people.
type summaryOfProgress struct {
	state        Progress
	outcome      Outcome
	started, now time.Time
	style        Style
	// width is the limit of lines; zero means that there is none.
	width int
}

// writeOutcome writes one line, preceded by what is not ready, and followed by what can be done.
func writeOutcome(out io.Writer, s summaryOfProgress) {
	var b strings.Builder
	mark := s.style.Green("✓")
	if !s.outcome.Done {
		mark = s.style.Red("✗")
		s.writeUnready(&b)
	}
	result := mark + " " + Clean(s.outcome.Summary)
	if details := s.details(); details != "" {
		result += s.style.Faint(" (" + details + ")")
	}
	WriteWrapped(&b, "", result, s.width)
	for _, note := range s.outcome.Notes {
		WriteWrapped(&b, "", s.style.Yellow("note:")+" "+Clean(note), s.width)
	}
	if s.outcome.Next != "" {
		b.WriteString(strings.TrimSuffix(s.outcome.Next, "\n") + "\n")
	}
	_, _ = io.WriteString(out, b.String())
}

func (s summaryOfProgress) writeUnready(b *strings.Builder) {
	unready := problems(s.state.Objects)
	names := namesIn(s.state, s.width)
	for _, object := range unready[:min(len(unready), maxUnready)] {
		text := fmt.Sprintf("%s %s: %s", mark(object, s.style), Clean(names.Of(object)), object.Label())
		if age := Age(object.Since, s.now); age != "" {
			text += " for " + age
		}
		WriteWrapped(b, "  ", text+because(object), s.width)
	}
	if more := len(unready) - maxUnready; more > 0 {
		fmt.Fprintf(b, "  … and %d more\n", more)
	}
}

// details counts what was done, and says how long it took.
func (s summaryOfProgress) details() string {
	counts := map[string]int{}
	var unchanged, untouched int
	for _, object := range s.state.Objects {
		switch {
		case object.Verb != "":
			counts[object.Done()]++
		case object.State == StateGone:
		case object.State.IsDone():
			unchanged++
		case object.State == StatePending:
			untouched++
		}
	}
	var details []string
	for _, deed := range slices.Sorted(maps.Keys(counts)) {
		details = append(details, fmt.Sprintf("%d %s", counts[deed], deed))
	}
	if unchanged > 0 {
		details = append(details, fmt.Sprintf("%d unchanged", unchanged))
	}
	if untouched > 0 {
		details = append(details, fmt.Sprintf("%d pending", untouched))
	}
	if !s.started.IsZero() {
		details = append(details, duration.HumanDuration(s.now.Sub(s.started)))
	}
	return strings.Join(details, ", ")
}

// problems returns what is neither done nor to come, failures first.
func problems(list []Dependent) []Dependent {
	var failed, others []Dependent
	for _, d := range list {
		switch {
		case d.State == StateFailed:
			failed = append(failed, d)
		case d.State.IsProblem():
			others = append(others, d)
		}
	}
	return slices.Concat(failed, others)
}

func mark(object Dependent, style Style) string {
	if object.State == StateFailed {
		return style.Red("✗")
	}
	return style.Yellow("▸")
}
