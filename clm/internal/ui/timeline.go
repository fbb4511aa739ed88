// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/types"
)

// timelineView is the content of the page with the timeline, in units of the drawing.
type timelineView struct {
	Began         time.Time
	Width, Height int
	Marks         []timeMark
	Bands         []timeBand
}

// timeMark is a time on the axis.
type timeMark struct {
	X    int
	Text string
}

// timeBand is a wave.
type timeBand struct {
	Label     string
	Y, Height int
	Odd       bool
	Bars      []timeBar
	// More is how many objects are not drawn.
	More  int
	MoreY int
}

// timeBar is an object: it was recorded at the beginning, was written where the bar begins, and became ready where it
// ends.
type timeBar struct {
	Name, Text, State string
	Y, X, Width       int
}

const (
	nameWidth = 320
	chart     = 640
	rowHeight = 22
	axis      = 28
)

// moment is when an object was written and became ready; ready is zero if it has not, or if that is not known.
type moment struct {
	node           *display.Node
	written, ready time.Time
}

// timelineOf draws the last operation: the objects that were written since the current revision was recorded or, for a
// component, since the operator began to process it. Kubernetes records times in seconds.
func timelineOf(s *views.Snapshot, now time.Time) timelineView {
	moments := momentsOf(s)
	began := beginning(s, moments)
	moments = slices.DeleteFunc(moments, func(m moment) bool { return m.written.Before(began.Truncate(time.Second)) })
	end := began.Add(time.Second)
	for _, m := range moments {
		if m.ready.IsZero() && !m.node.State.IsDone() {
			end = now
			break
		}
		if m.ready.After(end) {
			end = m.ready
		}
	}
	x := func(t time.Time) int {
		return nameWidth + int(chart*max(t.Sub(began), 0)/max(end.Sub(began), time.Second))
	}
	view := timelineView{Began: began, Width: nameWidth + chart + 60, Height: axis}
	const marks = 4
	for i := range marks + 1 {
		after := end.Sub(began) * time.Duration(i) / marks
		view.Marks = append(view.Marks, timeMark{X: x(began.Add(after)), Text: "+" + after.Round(100*time.Millisecond).String()})
	}
	for i, m := range moments {
		if i == 0 || m.node.Wave != moments[i-1].node.Wave {
			view.Bands = append(view.Bands, timeBand{Label: types.WaveText(m.node.Wave), Y: view.Height, Odd: len(view.Bands)%2 == 1, Height: rowHeight})
			view.Height += rowHeight
		}
		band := &view.Bands[len(view.Bands)-1]
		if len(band.Bars) >= shown {
			band.More++
			continue
		}
		bar := timeBar{Name: display.Elide(m.node.String(), 44), State: string(m.node.State), Y: view.Height, X: x(m.written)}
		until, text := end, "not ready for "+display.Age(m.written, now)
		switch {
		case !m.ready.IsZero():
			until, text = m.ready, "ready after "+m.ready.Sub(m.written).String()
		case m.node.State.IsDone():
			until, text = m.written, "ready; since when is not known"
		}
		bar.Width = max(x(until)-bar.X, 3)
		bar.Text = fmt.Sprintf("%s: written +%s, %s", m.node, m.written.Sub(began).Round(time.Second), text)
		band.Bars = append(band.Bars, bar)
		view.Height, band.Height = view.Height+rowHeight, band.Height+rowHeight
	}
	for i := range view.Bands {
		// A line for what is not drawn is at the end of its band, in the row of the label.
		view.Bands[i].MoreY = view.Bands[i].Y
	}
	return view
}

// beginning returns when the last operation began.
func beginning(s *views.Snapshot, moments []moment) time.Time {
	if s.Release != nil && s.Release.Current() != nil {
		return s.Release.Current().Created
	}
	if s.Component != nil && s.Component.Status.ProcessingSince != nil {
		return s.Component.Status.ProcessingSince.Time
	}
	// The operator is not working on it. What was written within a minute belongs together.
	const together = time.Minute
	times := display.Map(moments, func(m moment) time.Time { return m.written })
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	var first time.Time
	for _, t := range times {
		if !first.IsZero() && first.Sub(t) > together {
			break
		}
		first = t
	}
	return first
}

// momentsOf returns the dependents that were written, in the order of their waves. What an operation that is still
// running has written is known only of objects that it has created: it is recorded later.
func momentsOf(s *views.Snapshot) []moment {
	var found []moment
	for _, node := range s.Dependents {
		m := moment{node: node, written: node.Created}
		if node.Item != nil && node.Item.LastAppliedAt != nil {
			m.written = node.Item.LastAppliedAt.Time
		}
		if node.Item == nil || m.written.IsZero() {
			continue
		}
		if node.State.IsDone() {
			m.ready = readyAt(s, node, m.written)
		}
		found = append(found, m)
	}
	slices.SortStableFunc(found, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.node.Wave, b.node.Wave), a.written.Compare(b.written))
	})
	return found
}

// readyAt returns when an object has become ready after it was written: when the last of its conditions has become true,
// but not later than the release was ready. An object without conditions was ready when it was written. The result is
// zero if all conditions have been true since before, as in a rolling update.
func readyAt(s *views.Snapshot, node *display.Node, written time.Time) time.Time {
	if node.Live == nil {
		return written
	}
	var last time.Time
	conditions, _, _ := unstructured.NestedSlice(node.Live.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		text, _ := fields["lastTransitionTime"].(string)
		since, err := time.Parse(time.RFC3339, text)
		if err == nil && fields["status"] == string(metav1.ConditionTrue) && since.After(last) {
			last = since
		}
	}
	if s.Release != nil && s.Release.State == releases.StateReady && last.After(s.Release.Since) {
		last = s.Release.Since
	}
	switch {
	case len(conditions) == 0:
		return written
	case last.Before(written):
		return time.Time{}
	default:
		return last
	}
}
