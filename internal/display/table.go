// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// WriteOptions are the options of Write.
type WriteOptions struct {
	// Color marks ready, unready and failed objects by colors.
	Color bool
	// Width is the maximum width of lines in cells. Defaults to no limit.
	Width int
	// Namespace is the namespace of the release, which is not shown if there is a limit.
	Namespace string
	// Why adds the reasons below the objects.
	Why bool
	// Flat omits the objects that dependents own, and shows their reasons below the dependent. Defaults to the whole
	// tree.
	Flat bool
	// Now is the time from which ages are computed. Defaults to the present.
	Now time.Time
}

// Write prints nodes as a table whose first column is a tree. With a limit, names are those of [NewNames], and
// shortened in the middle; messages are shortened at the end, and reasons are wrapped.
func Write(w io.Writer, nodes []*Node, options WriteOptions) error {
	if options.Now.IsZero() {
		options.Now = time.Now()
	}
	p := &printer{WriteOptions: options, names: NewNames(options.Width/2, options.Namespace), table: NewTable(options.Width,
		Column{Header: "OBJECT", Fit: Middle}, Column{Header: "STATUS"}, Column{Header: "AGE"},
		Column{Header: "MESSAGE", Fit: End})}
	for _, node := range nodes {
		node.Walk(func(each *Node) {
			if each == node || !p.Flat {
				p.names.Include(each)
			}
		})
	}
	for _, node := range nodes {
		p.add(node, p.names.Of(node), "", "")
	}
	return p.table.Write(w)
}

type printer struct {
	WriteOptions
	names *Names
	table *Table
}

// add adds a node after the given branch, and its reasons and children after the given guides.
func (p *printer) add(node *Node, title, branch, guides string) {
	paint := p.paint(node.Status)
	p.table.Add(Cell{Lead: branch, Text: title}, Cell{Text: node.Status.String(), Paint: paint},
		Cell{Text: Age(node.Created, p.Now)}, Cell{Text: node.Message})
	children := node.Children
	if p.Flat {
		children = nil
	}
	below := guides + "   "
	if len(children) > 0 {
		below = guides + "│  "
	}
	if p.Why {
		for _, text := range p.reasons(node) {
			p.table.AddBelow(Cell{Lead: below, Text: text, Paint: paint})
		}
	}
	for i, child := range children {
		childTitle := p.names.Below(child)
		if i < len(children)-1 {
			p.add(child, childTitle, guides+"├─ ", guides+"│  ")
		} else {
			p.add(child, childTitle, guides+"└─ ", guides+"   ")
		}
	}
}

// maxFlatReasons is the maximum number of reasons below a dependent for the objects that it owns.
const maxFlatReasons = 5

func (p *printer) reasons(node *Node) []string {
	texts := Map(node.Why, func(reason Reason) string { return reason.Describe(p.Now) })
	if !p.Flat {
		return texts
	}
	texts = append(texts, p.reasonsBelow(node)...)
	if more := len(texts) - maxFlatReasons; more > 0 {
		texts = append(texts[:maxFlatReasons], fmt.Sprintf("… and %d more", more))
	}
	return texts
}

// reasonsBelow returns reasons with the names of their objects. It merges equal reasons of several objects.
func (p *printer) reasonsBelow(node *Node) []string {
	type group struct {
		Reason
		first string
		more  int
	}
	var groups []*group
	byText := map[string]*group{}
	add := func(object Object, reason Reason) {
		if same := byText[reason.Text]; same != nil {
			same.more++
			same.Count += reason.Count
			if reason.Since.Before(same.Since) {
				same.Since = reason.Since
			}
			return
		}
		byText[reason.Text] = &group{Reason: reason, first: object.Kind + " " + object.Name}
		groups = append(groups, byText[reason.Text])
	}
	for _, child := range node.Children {
		child.Walk(func(below *Node) {
			for _, reason := range below.Why {
				add(below.Object, reason)
			}
			if len(below.Why) == 0 && len(below.Children) == 0 && !below.IsReady() && below.Message != "" {
				add(below.Object, Reason{Text: below.Message})
			}
		})
	}
	texts := make([]string, len(groups))
	for i, group := range groups {
		if group.more > 0 {
			group.first += fmt.Sprintf(" and %d more", group.more)
		}
		texts[i] = group.first + ": " + group.Reason.Describe(p.Now)
	}
	return texts
}

// paint returns the function that colors texts about an object with that status.
func (p *printer) paint(verdict status.Status) func(text string) string {
	style := Style(p.Color)
	switch verdict {
	case "":
		return nil
	case status.CurrentStatus, StatusCompleted:
		return style.Green
	case status.FailedStatus, status.NotFoundStatus, StatusStolen:
		return style.Red
	case status.InProgressStatus, status.TerminatingStatus, status.UnknownStatus:
	}
	return style.Yellow
}

// sortable is implemented by Dependent and *Node.
type sortable interface{ dependent() Dependent }

func (d Dependent) dependent() Dependent { return d }

// Sort puts dependents in the order of their waves. It is stable within a wave.
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

// Merge merges adjacent waves whose dependents are all done, and adjacent waves whose dependents are all pending:
// people need the waves in between.
func Merge(waves []*Wave) []*Wave {
	var merged []*Wave
	for _, wave := range waves {
		if len(merged) == 0 || !merged[len(merged)-1].absorb(wave) {
			merged = append(merged, wave)
		}
	}
	return merged
}

// absorb merges the next wave into this one if possible, and reports whether it did.
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

// Label returns the name of the wave, or of the merged waves.
func (w *Wave) Label() string {
	if w.First == w.Last {
		return types.WaveText(w.First)
	}
	hook, first := types.SplitOrder(w.First)
	_, last := types.SplitOrder(w.Last)
	return strings.TrimSpace(fmt.Sprintf("%s waves %d to %d", hook, first, last))
}

// Number returns the number of the wave, with the kind of hooks if it consists of hooks.
func (w *Wave) Number() string {
	hook, wave := types.SplitOrder(w.First)
	return strings.TrimSpace(hook + " " + strconv.Itoa(wave))
}

// Describe returns the number of dependents in each state, for clm status.
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

// Summarize returns the numbers of dependents that are done, in progress, failed and pending, for operations.
func (w *Wave) Summarize(style Style) string {
	return w.describe(
		part{"✓ %d done", style.Green, []State{StateReady, StateCompleted, StateGone, StateStays}},
		part{"▸ %d in progress", style.Yellow, []State{StateUnready}},
		part{"✗ %d failed", style.Red, []State{StateFailed}},
		part{"· %d pending", style.Faint, []State{StatePending}},
	)
}

// part is a displayed number with the states that it counts.
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
