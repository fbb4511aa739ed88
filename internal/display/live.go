// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

const (
	// minPause is the least time between two redraws.
	minPause = 100 * time.Millisecond
	// maxPause is the time after which the view is redrawn without a change, because ages have grown.
	maxPause = time.Second
)

// live redraws a view.
type live struct {
	out    io.Writer
	size   func() (columns, rows int)
	style  Style
	screen *Screen
	drawn  time.Time // the time of the last redraw
}

func (l *live) take(present moment) time.Duration {
	if pause := minPause - present.now.Sub(l.drawn); pause > 0 {
		return pause
	}
	l.drawn = present.now
	columns, rows := l.size()
	view := view{moment: present, width: columns - 1, height: rows - 1, style: l.style}
	l.screen.Show(view.lines(), columns, rows)
	return maxPause
}

func (l *live) finish(present moment, outcome Outcome) {
	columns, rows := l.size()
	l.screen.Clear(columns, rows)
	writeOutcome(l.out, summaryOfProgress{moment: present, outcome: outcome, style: l.style, width: columns})
}

// view draws a state within the given size.
type view struct {
	moment
	width, height int
	style         Style
}

// lines returns at most as many lines as the height allows. They may be wider than the width.
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
	return lines[:max(0, min(len(lines), v.height))]
}

// header returns the line about the operation. It shortens the name of the release first.
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

// choose returns the unready objects that fit: failed ones first, then by wave. It also returns the number of the
// others.
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

// objects returns the lines of objects. Long names leave half of the line to state, age and reason. Reasons take more
// than one line as long as there are spare lines.
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

// object returns the line of an object with the reason in a column. A reason that does not fit follows below, in at
// most as many lines as are spare.
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

// Screen is the part of a terminal that shows a view. Between calls, the cursor is at the beginning of the line below
// it. Screen does not change the mode of the terminal, not even the visibility of the cursor, so nothing has to be
// restored when the process ends. It is not safe for concurrent use.
type Screen struct {
	out           io.Writer
	lines         []string
	columns, rows int
}

// NewScreen returns a screen without a view.
func NewScreen(out io.Writer) *Screen {
	if guarded, isGuard := out.(*guard); isGuard {
		out = guarded.out
	}
	return &Screen{out: out}
}

// Show replaces the view in one write, and does not rewrite unchanged lines. Lines must be fewer than the rows of the
// terminal, because the last one is for the cursor. They are cut so that the last column stays empty, because after it
// the position of the cursor is undefined. They can only color text; other control sequences are escaped.
func (s *Screen) Show(lines []string, columns, rows int) {
	var b strings.Builder
	lines = slices.Clone(lines)
	for i, line := range lines {
		lines[i] = Truncate(escape(line, colors), columns-1)
	}
	if columns != s.columns || rows != s.rows {
		if len(s.lines) > 0 {
			s.erase(&b, columns, rows)
		}
		s.columns, s.rows = columns, rows
	}
	first := 0
	for first < min(len(lines), len(s.lines)) && lines[first] == s.lines[first] {
		first++
	}
	if first == len(lines) && first == len(s.lines) {
		return
	}
	b.WriteString(up(len(s.lines) - first))
	for i := first; i < len(lines); i++ {
		if i >= len(s.lines) || lines[i] != s.lines[i] {
			b.WriteString(lines[i] + "\x1b[K")
		}
		b.WriteString("\r\n")
	}
	// Below is the rest of a longer view, or the ^C that the terminal echoes at the cursor.
	b.WriteString("\x1b[J")
	s.lines = lines
	_, _ = io.WriteString(s.out, b.String())
}

// Clear removes the view.
func (s *Screen) Clear(columns, rows int) {
	var b strings.Builder
	s.erase(&b, columns, rows)
	_, _ = io.WriteString(s.out, b.String())
}

// erase assumes that terminals wrap lines when they become narrower. If a terminal has become lower, the lines that
// have scrolled out of it stay there.
func (s *Screen) erase(b *strings.Builder, columns, rows int) {
	height := 0
	for _, line := range s.lines {
		height += max(1, (Width(line)+columns-1)/columns)
	}
	height = min(height, rows-1)
	// Clear line by line: if cleared from their first line on, some terminals move the content to the scrollback.
	b.WriteString(up(height) + strings.Repeat("\x1b[K\r\n", max(0, height)) + "\x1b[J" + up(height))
	s.lines = nil
}

// up returns the sequence that moves the cursor up by a number of lines, to the beginning of the line.
func up(lines int) string {
	if lines <= 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", lines)
}

// history is the last printed state.
type history struct {
	phase, message string
	objects        map[Object]Dependent
}

// A change is an object as it was and as it is. before is zero for an object that is seen for the first time.
type change struct{ before, after Dependent }

// advance returns what has changed since the last call. It drops objects that are missing in the state.
func (h *history) advance(state Progress) (phase, message bool, changes []change) {
	phase, message = state.Phase != h.phase, state.Message != h.message
	h.phase, h.message = state.Phase, state.Message
	for _, object := range state.Objects {
		if before := h.objects[object.Object]; !isSame(before, object) {
			changes = append(changes, change{before, object})
			h.objects[object.Object] = object
		}
	}
	if len(h.objects) > len(state.Objects) {
		clear(h.objects)
		for _, object := range state.Objects {
			h.objects[object.Object] = object
		}
	}
	return phase, message, changes
}

// isSame reports whether the printed properties of an object are the same.
func isSame(a, b Dependent) bool { return isSameButMessage(a, b) && a.Message == b.Message }

// isSameButMessage reports whether the properties except the text of the message are the same.
func isSameButMessage(a, b Dependent) bool {
	return a.Phase == b.Phase && a.Status == b.Status && a.State == b.State && a.Verb == b.Verb && a.Unreported == b.Unreported && a.Wave == b.Wave &&
		(a.Message == "") == (b.Message == "")
}
