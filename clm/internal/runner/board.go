// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// A Board holds the state of an operation, and shows it whenever it has changed.
type Board struct {
	printer display.Printer

	mu      sync.Mutex
	state   display.Progress
	records map[display.Key]*record
	listed  []*record // the dependents, by wave
	notes   map[string]bool
	shown   time.Time
	// deletes means that the operation deletes the dependents; done means that nothing is left to be done.
	deletes, done bool
	pending       *time.Timer // that shows what was not shown yet; nil if there is nothing
}

// A record has the state of an object that is a dependent or just part of a plan.
type record struct {
	display.Dependent

	listed  bool            // is one of the dependents
	planned reconciler.Verb // what the plan does first
	deed    string          // what the plan calls the write of an object that is more than an update
	failed  bool            // what the engine has said of it last
	wait    string          // what the engine waits for
	reason  string          // why it is not ready, as far as others say that
}

// showInterval is the least time between two updates while objects change one after the other. The cost of an update
// grows with the number of all objects.
const showInterval = 100 * time.Millisecond

// NewBoard returns the board of an operation on a release, which uses the printer of the connection. The revision is 0
// if the operation creates none.
func NewBoard(c *Connection, operation, release string, revision int64) *Board {
	return newBoard(c.Printer(), display.Progress{Operation: operation, Release: release, Revision: revision})
}

// NewQuietBoard returns a board that shows nothing. Processes that wait for the lock see the name of the operation.
func NewQuietBoard(operation string) *Board {
	return newBoard(display.Silent{}, display.Progress{Operation: operation})
}

func newBoard(printer display.Printer, state display.Progress) *Board {
	return &Board{printer: printer, state: state, records: map[display.Key]*record{}, notes: map[string]bool{}}
}

// record returns the record of an object; it creates one if there is none.
func (b *Board) record(key display.Key) *record {
	if b.records[key] == nil {
		b.records[key] = &record{}
	}
	return b.records[key]
}

// Say shows the phase of the operation.
func (b *Board) Say(phase string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Phase, b.state.Writing = phase, false
	b.show()
}

// trouble shows an error that holds up the operation.
func (b *Board) trouble(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Message = err.Error()
	b.show()
}

// Expect adds the dependents of an inventory in an operation that applies them.
func (b *Board) Expect(inventory []*reconciler.InventoryItem) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, item := range inventory {
		b.add(item, item.ApplyOrder, item.Phase, item.Status)
	}
	display.Sort(b.listed)
}

// ExpectDeletion adds the dependents of an inventory in an operation that deletes them.
func (b *Board) ExpectDeletion(inventory []*reconciler.InventoryItem) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deletes = true
	for _, item := range inventory {
		b.add(item, item.DeleteOrder, item.Phase, item.Status)
	}
	display.Sort(b.listed)
}

// ExpectChanges adds the desired objects of a plan.
func (b *Board) ExpectChanges(changes []reconciler.Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, change := range changes {
		r := b.record(display.KeyOf(change.Object))
		r.planned = change.Verb
		switch {
		case change.Repeats && len(change.Notes) == 0:
			r.deed = "run again"
		case change.Recreate:
			r.deed = "recreated"
		}
		if change.Digest != "" {
			b.add(change.Object, change.Wave, "", "")
		}
	}
	display.Sort(b.listed)
}

// add lists a dependent, unless it is listed already.
func (b *Board) add(object types.ObjectKey, wave int, phase reconciler.Phase, found status.Status) {
	r := b.record(display.KeyOf(object))
	if r.listed {
		return
	}
	r.listed = true
	r.Dependent = display.Dependent{Object: display.ObjectOf(object), Wave: wave, Phase: phase, Status: found, Since: time.Now()}
	r.State = display.StateInOperation(r.Dependent, r.failed)
	b.listed = append(b.listed, r)
}

// change applies a change to a dependent, decides on its state, and notes the time.
func (b *Board) change(r *record, change func()) {
	if !r.listed {
		return
	}
	before := r.Dependent
	change()
	r.State = display.StateInOperation(r.Dependent, r.failed)
	if (b.deletes || b.done) && r.State == display.StatePending && r.Phase == "" {
		// It never existed, such as a redundant object of a revision that failed before it was created.
		r.State = display.StateGone
	}
	if r.Phase != before.Phase || r.Status != before.Status || r.Verb != before.Verb {
		r.Since = time.Now()
	}
}

// seen takes the response of a write into account.
func (b *Board) seen(key types.ObjectKey, found status.Status, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record(display.KeyOf(key))
	b.change(r, func() {
		r.wait = message
		if found == status.CurrentStatus {
			r.wait, r.reason = "", ""
		}
		r.Status, r.Message = found, r.message()
		isFirst := r.Phase == reconciler.PhaseScheduledForApplication || r.Phase == ""
		if isFirst && !b.deletes && strings.HasPrefix(b.state.Phase, waiting) {
			// The operation no longer only waits.
			b.state.Writing = true
		}
		r.answered(found, isFirst)
		r.Unreported = r.planned != "" && r.Verb == "" && !b.deletes
	})
	if b.pending != nil {
		return
	}
	if time.Since(b.shown) >= showInterval {
		b.show()
		return
	}
	b.pending = time.AfterFunc(showInterval, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.pending != nil {
			b.show()
		}
	})
}

// answered sets the phase after the response of a write; first means that nothing was known of the object before.
func (r *record) answered(found status.Status, first bool) {
	switch {
	case found == status.CurrentStatus:
		r.Phase = reconciler.PhaseReady
	case first && (r.planned == reconciler.VerbCreated || r.planned == reconciler.VerbRestored):
		r.Phase = reconciler.PhaseCreating
	case first:
		r.Phase = reconciler.PhaseUpdating
	}
}

// explained sets the reasons why dependents are not ready. Dependents without an entry have no known reason.
func (b *Board) explained(reasons map[display.Key]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := false
	for _, r := range b.listed {
		if r.reason = reasons[r.Key()]; r.wait != "" {
			message := r.message()
			changed = changed || r.Message != message
			b.change(r, func() { r.Message = message })
		}
	}
	if changed {
		b.show()
	}
}

// message returns why a dependent is not ready; empty if it is.
func (r *record) message() string {
	if r.wait == "" || r.reason == "" {
		return r.wait
	}
	return r.wait + "; " + r.reason
}

// Took takes the result of a call of the engine into account. The error, if any, is one that will be retried. An empty
// phase leaves the phase as it is.
func (b *Board) Took(result reconciler.Result, err error, phase string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Message, b.done = "", result.Done
	if phase != "" {
		b.state.Phase, b.state.Writing = phase, false
	}
	if err != nil {
		b.state.Message = err.Error()
	}
	left := map[display.Key]*reconciler.InventoryItem{}
	for _, item := range result.Inventory {
		left[display.KeyOf(item)] = item
	}
	for _, notice := range slices.Concat(result.Notes, result.Drift) {
		b.notes[display.Text(notice.Object)+": "+notice.Message] = true
	}
	if problem := result.Aftermath.Problem; problem != "" {
		b.notes["on-failure hooks cannot be applied: "+problem] = true
	}
	if result.Done {
		for _, dependent := range result.Unhealthy {
			b.notes[fmt.Sprintf("%s: is %s: %s", display.Text(dependent.Object), strings.ToLower(string(dependent.Grade)), dependent.Message)] = true
		}
	}
	waits := releases.Messages(slices.Concat(result.Waits, result.Aftermath.Waits))
	failures := releases.Messages(slices.Concat(result.Failures, result.Aftermath.Failures))
	for key, r := range b.records {
		r.wait, r.failed = waits[key], failures[key] != ""
		if r.wait == "" {
			r.reason = ""
		}
		b.change(r, func() {
			r.Message, r.Phase, r.Status, r.Unreported = r.message(), "", "", false
			if item := left[key]; item != nil {
				r.Phase, r.Status = item.Phase, item.Status
			}
		})
	}
	for _, action := range result.Actions {
		for _, object := range action.Objects {
			r := b.record(display.KeyOf(object))
			b.change(r, func() { r.act(action.Verb) })
		}
	}
	b.show()
}

// act stores what the operation has done to the object. An update does not replace an earlier creation or adoption. If
// another client has changed the object between the two requests of its adoption, the engine reports only an update;
// act stores the adoption then.
func (r *record) act(verb reconciler.Verb) {
	r.Deed = ""
	if verb == reconciler.VerbUpdated || verb == reconciler.VerbCreated || verb == reconciler.VerbRestored {
		r.Deed = r.deed
	}
	switch {
	case verb != reconciler.VerbUpdated:
		r.Verb = verb
	case r.Verb == reconciler.VerbCreated || r.Verb == reconciler.VerbAdopted:
	case r.Verb == "" && r.planned == reconciler.VerbAdopted:
		r.Verb = reconciler.VerbAdopted
	default:
		r.Verb = verb
	}
}

// Finish shows how the operation ended. The board shows nothing afterwards. If another plan is needed, Finish shows
// nothing, because the operation will begin again.
func (b *Board) Finish(outcome display.Outcome, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if releases.IsChanged(err) {
		b.printer = display.Silent{}
		return
	}
	b.show()
	outcome.Notes = slices.Sorted(maps.Keys(b.notes))
	b.printer.Finish(outcome)
}

// show hands a copy to the printer, which may keep it.
func (b *Board) show() {
	if b.pending != nil {
		b.pending.Stop()
		b.pending = nil
	}
	b.shown = time.Now()
	state := b.state
	for _, r := range b.listed {
		state.Objects = append(state.Objects, r.Dependent)
	}
	b.printer.Update(state)
}
