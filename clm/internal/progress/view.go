// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

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
	waves := wavesOf(v.state.Objects)
	shown, more := v.choose(v.height - len(lines) - len(waves))
	columns := v.columns(waves, shown)
	for _, w := range waves {
		lines = append(lines, "  "+terminal.Pad(w.label(), columns.wave)+"  "+w.describe(v.style))
		for _, object := range w.objects {
			if _, ok := shown[object.Key]; ok {
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
func (v view) choose(room int) (shown map[Key]Object, more int) {
	unready := inMotion(v.state.Objects)
	if len(unready) > room {
		room-- // for the line that says how many more there are
	}
	room = min(max(0, room), len(unready))
	shown = make(map[Key]Object, room)
	for _, object := range unready[:room] {
		shown[object.Key] = object
	}
	return shown, len(unready) - room
}

// columns are the widths of what stands in columns.
type columns struct {
	wave, object, label, age int
}

// columns leaves half of the line to state, age and reason, if the names are long.
func (v view) columns(waves []*wave, shown map[Key]Object) columns {
	var c columns
	for _, w := range waves {
		c.wave = max(c.wave, len(w.label()))
	}
	for _, object := range shown {
		c.object = max(c.object, terminal.Width(terminal.Clean(object.Key.String())))
		c.label = max(c.label, len(object.label()))
		c.age = max(c.age, len(age(object, v.now)))
	}
	c.object = min(c.object, max(v.width/2, 10))
	return c
}

func (v view) object(object Object, c columns) string {
	name := terminal.Truncate(terminal.Clean(object.Key.String()), c.object)
	line := "    " + mark(object, v.style) + " " + terminal.Pad(name, c.object) + "  " + terminal.Pad(object.label(), c.label)
	if c.age > 0 {
		line += "  " + fmt.Sprintf("%*s", c.age, age(object, v.now))
	}
	return strings.TrimRight(line+"  "+strings.TrimLeft(object.because(), ": "), " ")
}

// A wave is what follows upon one another with the same order.
type wave struct {
	first, last int // orders; the same, unless several waves were merged
	objects     []Object
	counts      map[standing]int
}

// wavesOf merges neighbours of which all objects are done, and neighbours of which all are pending: a view needs the
// waves in motion.
func wavesOf(objects []Object) []*wave {
	var waves []*wave
	for len(objects) > 0 {
		next := &wave{first: objects[0].Wave, last: objects[0].Wave, counts: map[standing]int{}}
		end := slices.IndexFunc(objects, func(o Object) bool { return o.Wave != next.first })
		if end < 0 {
			end = len(objects)
		}
		next.objects, objects = objects[:end:end], objects[end:]
		for _, object := range next.objects {
			next.counts[object.standing()]++
		}
		if len(waves) == 0 || !waves[len(waves)-1].absorb(next) {
			waves = append(waves, next)
		}
	}
	return waves
}

// absorb tells whether the next wave could be merged into this one.
func (w *wave) absorb(next *wave) bool {
	for _, only := range []standing{done, pending} {
		if w.counts[only] == len(w.objects) && next.counts[only] == len(next.objects) {
			w.last, w.objects = next.last, append(w.objects, next.objects...)
			w.counts[only] = len(w.objects)
			return true
		}
	}
	return false
}

func (w *wave) label() string {
	if w.first == w.last {
		return fmt.Sprintf("wave %d", w.first)
	}
	return fmt.Sprintf("waves %d to %d", w.first, w.last)
}

func (w *wave) describe(style terminal.Style) string {
	var parts []string
	for _, part := range []struct {
		standing standing
		text     string
		paint    func(string) string
	}{
		{done, "✓ %d done", style.Green},
		{moving, "▸ %d in motion", style.Yellow},
		{failed, "✗ %d failed", style.Red},
		{pending, "· %d to come", style.Faint},
	} {
		if n := w.counts[part.standing]; n > 0 {
			parts = append(parts, part.paint(fmt.Sprintf(part.text, n)))
		}
	}
	return strings.Join(parts, "  ")
}
