// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/terminal"
)

// view is what is drawn of a state.
type view struct {
	state         State
	started, now  time.Time
	width, height int
	style         terminal.Style
}

// lines returns at most as many lines as the height allows, none wider than the width.
func (v view) lines() []string {
	lines := []string{v.header()}
	if v.state.Message != "" {
		lines = append(lines, "  "+v.style.Yellow(terminal.Clean(v.state.Message)))
	}
	waves := dependents.Merge(dependents.Waves(v.state.Objects))
	room := v.height - len(lines) - len(waves)
	chosen, more := v.choose(room)
	columns := v.columns(waves, chosen)
	shown := v.objects(chosen, columns, room-len(chosen)-min(more, 1))
	for _, w := range waves {
		lines = append(lines, "  "+terminal.Pad(w.Label(), columns.wave)+"  "+w.Summarize(v.style))
		for _, object := range w.Dependents {
			lines = append(lines, shown[object.Object]...)
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("    … and %d more", more))
	}
	lines = lines[:max(0, min(len(lines), v.height))]
	for i, line := range lines {
		lines[i] = terminal.Truncate(line, v.width)
	}
	return lines
}

func (v view) header() string {
	header := v.style.Bold(terminal.Clean(v.state.title()))
	if v.state.Phase != "" {
		header += ": " + terminal.Clean(v.state.Phase)
	}
	return header + v.style.Faint("  "+duration.HumanDuration(v.now.Sub(v.started)))
}

// choose returns the objects in motion for which there is room: those that have failed, then those of earlier waves. It
// also returns how many others there are.
func (v view) choose(room int) (chosen []dependents.Dependent, more int) {
	unready := problems(v.state.Objects)
	if len(unready) > room {
		room-- // for the line that says how many more there are
	}
	room = min(max(0, room), len(unready))
	return unready[:room], len(unready) - room
}

// objects returns the lines of objects. Reasons get more than one line as long as there are lines to spare.
func (v view) objects(chosen []dependents.Dependent, c columns, spare int) map[dependents.Object][]string {
	shown := make(map[dependents.Object][]string, len(chosen))
	for _, object := range chosen {
		lines := v.object(object, c, spare)
		shown[object.Object] = lines
		spare -= len(lines) - 1
	}
	return shown
}

// columns are the widths of what stands in columns.
type columns struct {
	wave, object, label, age int
}

// columns leaves half of the line to state, age and reason, if the names are long.
func (v view) columns(waves []*dependents.Wave, chosen []dependents.Dependent) columns {
	var c columns
	for _, w := range waves {
		c.wave = max(c.wave, len(w.Label()))
	}
	for _, object := range chosen {
		c.object = max(c.object, terminal.Width(v.name(object)))
		c.label = max(c.label, len(object.Label()))
		c.age = max(c.age, len(dependents.Age(object.Since, v.now)))
	}
	c.object = min(c.object, max(v.width/2, 10))
	return c
}

// name returns the name of an object, without the namespace of the release.
func (v view) name(object dependents.Dependent) string {
	namespace, _, _ := strings.Cut(v.state.Release, "/")
	return terminal.Clean(object.Object.In(namespace))
}

const (
	// reasonIndent is the indentation of reasons below their objects.
	reasonIndent = 8
	// maxReasonLines is the maximum number of lines of a reason below its object.
	maxReasonLines = 3
)

// object returns the line of an object. A reason that does not fit in it stands below it, in at most as many lines as there are to spare.
func (v view) object(object dependents.Dependent, c columns, spare int) []string {
	line := "    " + mark(object, v.style) + " " + terminal.Pad(terminal.Elide(v.name(object), c.object), c.object) + "  " + terminal.Pad(object.Label(), c.label)
	if c.age > 0 {
		line += "  " + fmt.Sprintf("%*s", c.age, dependents.Age(object.Since, v.now))
	}
	reason := strings.TrimLeft(because(object), ": ")
	if spare <= 0 || reason == "" || terminal.Width(line)+2+terminal.Width(reason) <= v.width {
		return []string{strings.TrimRight(line+"  "+reason, " ")}
	}
	below := terminal.Wrap(reason, max(v.width-reasonIndent, 1))
	if room := min(spare, maxReasonLines); len(below) > room {
		below = append(below[:room-1], strings.Join(below[room-1:], " "))
	}
	lines := []string{strings.TrimRight(line, " ")}
	for _, text := range below {
		lines = append(lines, strings.Repeat(" ", reasonIndent)+text)
	}
	return lines
}
