// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/component-operator/runtime/pkg/types"
)

// sortable are the values that are in an order: Dependent and *Node.
type sortable interface{ dependent() Dependent }

func (d Dependent) dependent() Dependent { return d }

// Sort puts dependents in the order of their waves. Within a wave they stay in the order in which they are.
func Sort[D sortable](list []D) {
	slices.SortStableFunc(list, func(a, b D) int { return cmp.Compare(a.dependent().Wave, b.dependent().Wave) })
}

// Wave are dependents with the same order.
type Wave struct {
	// First and Last are the orders; the same unless several waves were merged.
	First, Last int
	Dependents  []Dependent
	// Counts are the numbers of dependents by state.
	Counts map[State]int
}

// Waves groups dependents that are sorted.
func Waves[D sortable](list []D) []*Wave {
	var waves []*Wave
	for _, element := range list {
		d := element.dependent()
		if len(waves) == 0 || waves[len(waves)-1].Last != d.Wave {
			waves = append(waves, &Wave{First: d.Wave, Last: d.Wave, Counts: map[State]int{}})
		}
		last := waves[len(waves)-1]
		last.Dependents = append(last.Dependents, d)
		last.Counts[d.State]++
	}
	return waves
}

// Merge merges neighbours of which all dependents are done, and neighbours of which all are pending: what people need
// are the waves in between.
func Merge(waves []*Wave) []*Wave {
	var merged []*Wave
	for _, wave := range waves {
		if len(merged) == 0 || !merged[len(merged)-1].absorb(wave) {
			merged = append(merged, wave)
		}
	}
	return merged
}

// absorb reports whether the next wave could be merged into this one.
func (w *Wave) absorb(next *Wave) bool {
	hook, _ := types.SplitOrder(w.First)
	if other, _ := types.SplitOrder(next.First); other != hook {
		return false
	}
	for _, alike := range []func(State) bool{State.IsDone, func(s State) bool { return s == StatePending }} {
		if w.all(alike) && next.all(alike) {
			w.Last, w.Dependents = next.Last, append(w.Dependents, next.Dependents...)
			for state, count := range next.Counts {
				w.Counts[state] += count
			}
			return true
		}
	}
	return false
}

func (w *Wave) all(alike func(State) bool) bool {
	for state := range w.Counts {
		if !alike(state) {
			return false
		}
	}
	return true
}

// Label names the wave, or the waves that were merged.
func (w *Wave) Label() string {
	if w.First == w.Last {
		return types.WaveText(w.First)
	}
	hook, first := types.SplitOrder(w.First)
	_, last := types.SplitOrder(w.Last)
	return strings.TrimSpace(fmt.Sprintf("%s waves %d to %d", hook, first, last))
}

// Number is the number of the wave, with the kind of hooks if it consists of hooks.
func (w *Wave) Number() string {
	hook, wave := types.SplitOrder(w.First)
	return strings.TrimSpace(hook + " " + strconv.Itoa(wave))
}

// Describe says how many dependents are in which state, to be shown by clm status, which tells all states apart.
func (w *Wave) Describe(style Style) string {
	return w.describe(
		part{"✓ %d ready", style.Green, []State{StateReady}},
		part{"✓ %d completed", style.Green, []State{StateCompleted}},
		part{"✓ %d gone", style.Green, []State{StateGone}},
		part{"= %d kept", style.Green, []State{StateStays}},
		part{"▸ %d not ready", style.Yellow, []State{StateUnready}},
		part{"✗ %d failed", style.Red, []State{StateFailed}},
		part{"· %d pending", style.Faint, []State{StatePending}},
	)
}

// Summarize says how many dependents an operation is done with, and how many not.
func (w *Wave) Summarize(style Style) string {
	return w.describe(
		part{"✓ %d done", style.Green, []State{StateReady, StateCompleted, StateGone, StateStays}},
		part{"▸ %d in progress", style.Yellow, []State{StateUnready}},
		part{"✗ %d failed", style.Red, []State{StateFailed}},
		part{"· %d pending", style.Faint, []State{StatePending}},
	)
}

// part is a number that is shown, and the states that it counts.
type part struct {
	text   string
	paint  func(text string) string
	states []State
}

func (w *Wave) describe(parts ...part) string {
	var texts []string
	for _, part := range parts {
		count := 0
		for _, state := range part.states {
			count += w.Counts[state]
		}
		if count > 0 {
			texts = append(texts, part.paint(fmt.Sprintf(part.text, count)))
		}
	}
	return strings.Join(texts, "  ")
}
