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
	// More is how many objects are not shown.
	More int
}

// timeBar is an object: it was recorded at the beginning, was applied where the bar begins, and became ready where it
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

// appliedObject is an object with when it was applied and became ready; ready is zero if it has not, or if that is not
// known.
type appliedObject struct {
	node           *display.Node
	applied, ready time.Time
}

// timelineOf draws the last operation: the objects that were applied since the current revision was recorded or, for a
// component, since the operator began to process it. Kubernetes records times in seconds.
func timelineOf(s *views.Snapshot, now time.Time) timelineView {
	objects := appliedObjects(s)
	began := beginning(s, objects)
	objects = slices.DeleteFunc(objects, func(m appliedObject) bool { return m.applied.Before(began.Truncate(time.Second)) })
	end := began.Add(time.Second)
	for _, m := range objects {
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
	for i, m := range objects {
		if i == 0 || m.node.Wave != objects[i-1].node.Wave {
			view.Bands = append(view.Bands, timeBand{Label: types.WaveText(m.node.Wave), Y: view.Height, Odd: len(view.Bands)%2 == 1, Height: rowHeight})
			view.Height += rowHeight
		}
		band := &view.Bands[len(view.Bands)-1]
		if len(band.Bars) >= pageSize {
			band.More++
			continue
		}
		bar := timeBar{Name: display.Elide(m.node.String(), 44), State: string(m.node.State), Y: view.Height, X: x(m.applied)}
		until, text := end, "not ready for "+display.Age(m.applied, now)
		switch {
		case !m.ready.IsZero():
			until, text = m.ready, "ready after "+m.ready.Sub(m.applied).String()
		case m.node.State.IsDone():
			until, text = m.applied, "ready; since when is not known"
		}
		bar.Width = max(x(until)-bar.X, 3)
		bar.Text = fmt.Sprintf("%s: applied +%s, %s", m.node, m.applied.Sub(began).Round(time.Second), text)
		band.Bars = append(band.Bars, bar)
		view.Height, band.Height = view.Height+rowHeight, band.Height+rowHeight
	}
	return view
}

// beginning returns when the last operation began.
func beginning(s *views.Snapshot, objects []appliedObject) time.Time {
	if s.Release != nil && s.Release.Current() != nil {
		return s.Release.Current().Created
	}
	if s.Component != nil && s.Component.Status.ProcessingSince != nil {
		return s.Component.Status.ProcessingSince.Time
	}
	// The operator is not working on it. What was applied with no pause of more than a minute belongs together.
	const maxGap = time.Minute
	times := display.Map(objects, func(m appliedObject) time.Time { return m.applied })
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	var first time.Time
	for _, t := range times {
		if !first.IsZero() && first.Sub(t) > maxGap {
			break
		}
		first = t
	}
	return first
}

// appliedObjects returns the dependents that were applied, in the order of their waves. What an operation that is still
// running has applied is known only of objects that it has created: it is recorded later.
func appliedObjects(s *views.Snapshot) []appliedObject {
	var found []appliedObject
	for _, node := range s.Dependents {
		m := appliedObject{node: node, applied: node.Created}
		if node.Item != nil && node.Item.LastAppliedAt != nil {
			m.applied = node.Item.LastAppliedAt.Time
		}
		if node.Item == nil || m.applied.IsZero() {
			continue
		}
		if node.State.IsDone() {
			m.ready = readyAt(s, node, m.applied)
		}
		found = append(found, m)
	}
	slices.SortStableFunc(found, func(a, b appliedObject) int {
		return cmp.Or(cmp.Compare(a.node.Wave, b.node.Wave), a.applied.Compare(b.applied))
	})
	return found
}

// readyAt returns when an object has become ready after it was applied: when the last of its conditions has become true,
// but not later than the release was ready. An object without conditions was ready when it was applied. The result is
// zero if all conditions have been true since before, as in a rolling update.
func readyAt(s *views.Snapshot, node *display.Node, applied time.Time) time.Time {
	if node.Live == nil {
		return applied
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
		return applied
	case last.Before(applied):
		return time.Time{}
	default:
		return last
	}
}
