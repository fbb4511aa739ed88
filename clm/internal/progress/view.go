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
	shown, more := v.choose(v.height - len(lines) - len(waves))
	columns := v.columns(waves, shown)
	for _, w := range waves {
		lines = append(lines, "  "+terminal.Pad(w.Label(), columns.wave)+"  "+w.Summarize(v.style))
		for _, object := range w.Dependents {
			if _, ok := shown[object.Object]; ok {
				lines = append(lines, v.object(object, columns))
			}
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
func (v view) choose(room int) (shown map[dependents.Object]dependents.Dependent, more int) {
	unready := problems(v.state.Objects)
	if len(unready) > room {
		room-- // for the line that says how many more there are
	}
	room = min(max(0, room), len(unready))
	shown = make(map[dependents.Object]dependents.Dependent, room)
	for _, object := range unready[:room] {
		shown[object.Object] = object
	}
	return shown, len(unready) - room
}

// columns are the widths of what stands in columns.
type columns struct {
	wave, object, label, age int
}

// columns leaves half of the line to state, age and reason, if the names are long.
func (v view) columns(waves []*dependents.Wave, shown map[dependents.Object]dependents.Dependent) columns {
	var c columns
	for _, w := range waves {
		c.wave = max(c.wave, len(w.Label()))
	}
	for _, object := range shown {
		c.object = max(c.object, terminal.Width(terminal.Clean(object.String())))
		c.label = max(c.label, len(object.Label()))
		c.age = max(c.age, len(dependents.Age(object.Since, v.now)))
	}
	c.object = min(c.object, max(v.width/2, 10))
	return c
}

func (v view) object(object dependents.Dependent, c columns) string {
	name := terminal.Truncate(terminal.Clean(object.String()), c.object)
	line := "    " + mark(object, v.style) + " " + terminal.Pad(name, c.object) + "  " + terminal.Pad(object.Label(), c.label)
	if c.age > 0 {
		line += "  " + fmt.Sprintf("%*s", c.age, dependents.Age(object.Since, v.now))
	}
	return strings.TrimRight(line+"  "+strings.TrimLeft(because(object), ": "), " ")
}
