// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
)

// pageSize is how many dependents of a wave in one state a page shows, moreSize how many further ones a link shows.
const (
	pageSize = 20
	moreSize = 200
)

// treeView is the content of the page about the dependents.
type treeView struct {
	Head  [][2]template.HTML
	Cause *cause
	Waves []waveView
	Notes []string
}

// cause is the first object that is not ready, in the order of waves.
type cause struct {
	Object, Text string
	More         int // other objects that are not ready
}

// waveView is a wave with the dependents that a page shows.
type waveView struct {
	// Tree is the name of the set; empty unless there are several.
	Tree, Label, ID string
	Counts          template.HTML
	Done, All       int
	State           display.State // the worst
	Blocked         string
	Groups          []groupView
	Open            bool
}

// groupView are dependents of a wave in the same state.
type groupView struct {
	State display.State
	Rows  []nodeView
	// More is how many are not shown, and Link shows some of them.
	More int
	Link string
}

// nodeView is an object with the objects that it owns.
type nodeView struct {
	ID, Kind, Name, Status, State, Age, Message string
	Why                                         []string
	Children                                    []nodeView
	// Object names the object in the address of its logs; empty if it has none.
	Object string
}

// treeOf returns the content of the tree page. The query of the page says which groups are shown longer.
func treeOf(s *views.Snapshot, query url.Values, now time.Time) treeView {
	view := treeView{Notes: display.Map(s.Notes, display.Note.String)}
	for _, row := range s.Describe(style) {
		view.Head = append(view.Head, [2]template.HTML{ansiToHTML(row[0]), ansiToHTML(row[1])})
	}
	trees := s.Trees
	if trees == nil {
		trees = []views.SetTree{{Nodes: s.Dependents}}
	}
	for _, tree := range trees {
		view.addWaves(tree, query, now)
	}
	current := *s
	if len(s.Trees) > 0 {
		current.Dependents = s.Trees[0].Nodes // of earlier sets, only what the current one needs matters
	}
	if problems := current.Problems(); len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b *display.Node) int { return cmp.Compare(a.Wave, b.Wave) })
		first := problems[0]
		view.Cause = &cause{Object: first.String(), Text: first.Explain(), More: len(problems) - 1}
	}
	return view
}

// order is that of the groups of a wave: what needs attention comes first.
var order = []display.State{
	display.StateFailed, display.StateUnready, display.StatePending, display.StateReady, display.StateCompleted, display.StateStays, display.StateGone,
}

// addWaves adds the waves of a release or a component, or the phases of a set.
func (v *treeView) addWaves(tree views.SetTree, query url.Values, now time.Time) {
	nodes, name, blocker := tree.Nodes, "", ""
	if tree.Set != nil {
		name = tree.Set.GetName()
	}
	at := 0
	for _, wave := range display.Waves(nodes) {
		members := nodes[at : at+len(wave.Dependents)]
		at += len(members)
		view := waveView{Tree: name, Label: wave.Label(), Counts: ansiToHTML(wave.Describe(style)), All: len(members), Blocked: blocker, ID: fmt.Sprintf("%s.%d", name, wave.First)}
		if tree.Set != nil {
			view.Label = "phase " + tree.Set.GetSetSpec().Phases[wave.First].Name
		}
		for _, state := range order {
			group := view.group(members, state, query, now)
			if len(group.Rows) == 0 {
				continue
			}
			view.Groups = append(view.Groups, group)
			view.State = cmp.Or(view.State, state)
			if state.IsDone() {
				view.Done += len(group.Rows) + group.More
			}
		}
		view.Open = view.State.IsProblem() || len(nodes) <= moreSize || view.All == len(nodes)
		if view.State != display.StatePending {
			view.Blocked = ""
		}
		if problem := slices.IndexFunc(members, func(node *display.Node) bool { return node.State.IsProblem() }); problem >= 0 && blocker == "" {
			blocker = fmt.Sprintf("waits for %s: %s is not ready", view.Label, members[problem])
		}
		v.Waves = append(v.Waves, view)
	}
}

// group returns the dependents in a state.
func (w *waveView) group(nodes []*display.Node, state display.State, query url.Values, now time.Time) groupView {
	group, key := groupView{State: state}, "more."+w.ID+"."+string(state)
	limit := pageSize
	if wanted, err := strconv.Atoi(query.Get(key)); err == nil {
		limit = max(limit, wanted)
	}
	for _, node := range nodes {
		switch {
		case node.State != state:
		case len(group.Rows) < limit:
			row := nodeOf(node, node.String(), now)
			if len(row.Children) > 0 {
				row.Object = node.Argument()
			}
			group.Rows = append(group.Rows, row)
		default:
			group.More++
		}
	}
	if group.More > 0 {
		longer := url.Values{}
		for name, values := range query {
			longer[name] = values
		}
		longer.Set(key, strconv.Itoa(limit+moreSize))
		group.Link = "?" + longer.Encode()
	}
	return group
}

func nodeOf(node *display.Node, id string, now time.Time) nodeView {
	view := nodeView{
		ID: id, Kind: node.Kind, Name: node.Name, Status: node.Status.String(), State: string(node.State), Age: display.Age(node.Created, now), Message: node.Message,
		Why: display.Map(node.Why, func(reason display.Reason) string { return reason.Describe(now) }),
	}
	if node.Namespace != "" {
		view.Name = node.Namespace + "/" + node.Name
	}
	if node.State == "" {
		view.State = string(display.StateUnready)
		if node.IsReady() {
			view.State = string(display.StateReady)
		}
	}
	if node.Kind == "Pod" {
		view.Object = node.Argument()
	}
	for _, child := range node.Children {
		view.Children = append(view.Children, nodeOf(child, id+"/"+child.Kind+" "+child.Name, now))
	}
	return view
}
