// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// view is what is drawn of a state.
type view struct {
	state         Progress
	started, now  time.Time
	width, height int
	style         Style
}

// lines returns at most as many lines as the height allows, none wider than the width.
func (v view) lines() []string {
	lines := []string{v.header()}
	if v.state.Message != "" {
		lines = append(lines, "  "+v.style.Yellow(Clean(v.state.Message)))
	}
	waves := Merge(Waves(v.state.Objects))
	room := v.height - len(lines) - len(waves)
	chosen, more := v.choose(room)
	shown := v.objects(chosen, room-len(chosen)-min(more, 1))
	labels := 0
	for _, w := range waves {
		labels = max(labels, len(w.Label()))
	}
	for _, w := range waves {
		lines = append(lines, "  "+Pad(w.Label(), labels)+"  "+w.Summarize(v.style))
		for _, object := range w.Dependents {
			lines = append(lines, shown[object.Object]...)
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("    … and %d more", more))
	}
	lines = lines[:max(0, min(len(lines), v.height))]
	for i, line := range lines {
		lines[i] = Truncate(line, v.width)
	}
	return lines
}

// header names the operation. A release with a long name is shortened before anything else is.
func (v view) header() string {
	age, phase := "  "+duration.HumanDuration(v.now.Sub(v.started)), ""
	if v.state.Writing {
		phase = ": applying"
	} else if v.state.Phase != "" {
		phase = ": " + Clean(v.state.Phase)
	}
	shown := v.state
	others := Width(v.state.title()+phase+age) - Width(v.state.Release)
	shown.Release = Elide(v.state.Release, max(v.width-others, minRelease))
	return v.style.Bold(Clean(shown.title())) + phase + v.style.Faint(age)
}

// choose returns the objects in motion for which there is room: those that have failed, then those of earlier waves. It
// also returns how many others there are.
func (v view) choose(room int) (chosen []Dependent, more int) {
	unready := problems(v.state.Objects)
	if len(unready) > room {
		room-- // for the line that says how many more there are
	}
	room = min(max(0, room), len(unready))
	return unready[:room], len(unready) - room
}

const (
	// reasonIndent is the indentation of reasons below their objects.
	reasonIndent = 8
	// maxReasonLines is the maximum number of lines of a reason below its object.
	maxReasonLines = 3
	// minRelease is the least width in which the name of the release is shown.
	minRelease = 20
	// minName is the least width in which the name of an object is shown.
	minName = 10
)

// objects returns the lines of objects. Half of a line is left to state, age and reason, if names are long. Reasons get
// more than one line as long as there are lines to spare.
func (v view) objects(chosen []Dependent, spare int) map[Object][]string {
	names := namesIn(v.state, max(v.width/2, minName))
	table := NewTable(v.width, Column{}, Column{}, Column{Right: true})
	for _, object := range chosen {
		table.Add(Cell{Lead: "    " + mark(object, v.style) + " ", Text: Elide(Clean(names.Of(object)), max(v.width/2, minName))},
			Cell{Text: object.Label()}, Cell{Text: Age(object.Since, v.now)})
	}
	lines, column := table.Lines(), 0
	for _, line := range lines {
		column = max(column, Width(line)+columnGap)
	}
	shown := make(map[Object][]string, len(chosen))
	for i, object := range chosen {
		whole := v.object(lines[i], column, Clean(strings.TrimLeft(because(object), ": ")), spare)
		shown[object.Object] = whole
		spare -= len(whole) - 1
	}
	return shown
}

// object returns the line of an object with the reason in a column. A reason that does not fit in it stands below it, in
// at most as many lines as there are to spare.
func (v view) object(line string, column int, reason string, spare int) []string {
	if reason == "" {
		return []string{line}
	}
	if spare <= 0 || Width(reason) <= v.width-column {
		return []string{Pad(line, column) + Truncate(reason, v.width-column)}
	}
	below := Wrap(reason, max(v.width-reasonIndent, 1))
	if room := min(spare, maxReasonLines); len(below) > room {
		below = append(below[:room-1], strings.Join(below[room-1:], " "))
	}
	lines := []string{line}
	for _, text := range below {
		lines = append(lines, strings.Repeat(" ", reasonIndent)+text)
	}
	return lines
}
