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

	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// A Board holds the state of an operation, and shows it whenever it has changed.
type Board struct {
	printer display.Printer
	clock   clock.PassiveClock

	mu      sync.Mutex
	state   display.Progress
	index   map[display.Key]int    // of the dependents
	absent  map[display.Key]bool   // did not exist when the operation began
	adopted map[display.Key]bool   // existed, and had another owner or none
	deeds   map[display.Key]string // what the plan calls the write of an object that is more than an update
	failed  map[display.Key]bool   // what the engine has said of them last
	waits   map[display.Key]string
	reasons map[display.Key]string // why they are not ready, as far as others say that
	notes   map[string]bool
	shown   time.Time
	// deletes means that the dependents are deleted, and done that nothing is left to be done.
	deletes, done bool
	pending       *time.Timer // that shows what was not shown yet; nil if there is nothing
}

// showInterval is the least time between two updates while objects change one after the other. The cost of an update
// grows with the number of all objects.
const showInterval = 100 * time.Millisecond

// NewBoard returns the board of an operation on a release, which uses the printer of the connection. The revision is 0
// if the operation makes none.
func NewBoard(c *connection.Connection, operation, release string, revision int64) *Board {
	return newBoard(c.Printer(), c.Clock(), display.Progress{Operation: operation, Release: release, Revision: revision})
}

// NewQuietBoard returns a board that shows nothing. Those who wait for the lock of the operation are told its name.
func NewQuietBoard(c *connection.Connection, operation string) *Board {
	return newBoard(display.Silent{}, c.Clock(), display.Progress{Operation: operation})
}

func newBoard(printer display.Printer, clock clock.PassiveClock, state display.Progress) *Board {
	return &Board{
		printer: printer, clock: clock, state: state, index: map[display.Key]int{}, absent: map[display.Key]bool{}, adopted: map[display.Key]bool{},
		deeds: map[display.Key]string{},
		notes: map[string]bool{}, waits: map[display.Key]string{},
	}
}

// Say shows what the operation as a whole is about.
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
	b.expect(inventory, func(item *reconciler.InventoryItem) int { return item.ApplyOrder })
}

// ExpectDeletion adds the dependents of an inventory in an operation that deletes them.
func (b *Board) ExpectDeletion(inventory []*reconciler.InventoryItem) {
	b.mu.Lock()
	b.deletes = true
	b.mu.Unlock()
	b.expect(inventory, func(item *reconciler.InventoryItem) int { return item.DeleteOrder })
}

// expect adds the dependents of an inventory. The function returns the wave of each.
func (b *Board) expect(inventory []*reconciler.InventoryItem, wave func(item *reconciler.InventoryItem) int) {
	list := make([]display.Dependent, len(inventory))
	for i, item := range inventory {
		list[i] = display.Dependent{Object: display.ObjectOf(item), Wave: wave(item), Phase: item.Phase, Status: item.Status}
	}
	b.add(list)
}

// ExpectChanges adds the objects of a plan that are wanted.
func (b *Board) ExpectChanges(changes []reconciler.Change) {
	var list []display.Dependent
	b.mu.Lock()
	for _, change := range changes {
		key := display.KeyOf(change.Object)
		b.absent[key] = change.Verb == reconciler.VerbCreated || change.Verb == reconciler.VerbRestored
		b.adopted[key] = change.Verb == reconciler.VerbAdopted
		switch {
		case change.Repeats && len(change.Notes) == 0:
			b.deeds[key] = "run again"
		case change.Recreate:
			b.deeds[key] = "recreated"
		}
	}
	b.mu.Unlock()
	for _, change := range changes {
		if change.Digest != "" {
			list = append(list, display.Dependent{Object: display.ObjectOf(change.Object), Wave: change.Wave})
		}
	}
	b.add(list)
}

// add adds the dependents that the board does not have yet, and sorts all of them by wave.
func (b *Board) add(list []display.Dependent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	more := false
	for _, d := range list {
		if _, known := b.index[d.Key()]; known {
			continue
		}
		d.Since, d.State = b.clock.Now(), display.StateInOperation(d, b.failed[d.Key()])
		b.index[d.Key()] = -1
		b.state.Objects = append(b.state.Objects, d)
		more = true
	}
	if !more {
		return
	}
	display.Sort(b.state.Objects)
	for i, d := range b.state.Objects {
		b.index[d.Key()] = i
	}
}

// change applies a change to a dependent, decides on its state, and notes the time.
func (b *Board) change(key display.Key, change func(d *display.Dependent)) {
	at, known := b.index[key]
	if !known {
		return
	}
	d := &b.state.Objects[at]
	before := *d
	change(d)
	d.State = display.StateInOperation(*d, b.failed[key])
	if (b.deletes || b.done) && d.State == display.StatePending && d.Phase == "" {
		// It did not exist, such as an object that only the last revision wanted, which had failed before.
		d.State = display.StateGone
	}
	if d.Phase != before.Phase || d.Status != before.Status || d.Verb != before.Verb {
		d.Since = b.clock.Now()
	}
}

// seen takes the response of a write into account.
func (b *Board) seen(key types.ObjectKey, found status.Status, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change(display.KeyOf(key), func(d *display.Dependent) {
		b.waits[d.Key()] = message
		if found == status.CurrentStatus {
			delete(b.waits, d.Key())
			delete(b.reasons, d.Key())
		}
		d.Status, d.Message = found, b.message(d.Key())
		switch {
		case found == status.CurrentStatus:
			b.wrote(d)
			d.Phase = reconciler.PhaseReady
		case d.Phase == reconciler.PhaseScheduledForApplication || d.Phase == "":
			b.wrote(d)
			d.Phase = reconciler.PhaseUpdating
			if b.absent[d.Key()] {
				d.Phase = reconciler.PhaseCreating
			}
		}
	})
	if b.pending != nil {
		return
	}
	if b.clock.Since(b.shown) >= showInterval {
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

// wrote notes that the operation does not wait any more if the dependent was not written before.
func (b *Board) wrote(d *display.Dependent) {
	isFirst := d.Phase == reconciler.PhaseScheduledForApplication || d.Phase == ""
	b.state.Writing = b.state.Writing || isFirst && !b.deletes && strings.HasPrefix(b.state.Phase, waiting)
}

// explained takes into account why dependents are not ready. Those that are not mentioned have no reason, or none that
// is known.
func (b *Board) explained(reasons map[display.Key]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reasons = reasons
	changed := false
	for key := range b.waits {
		b.change(key, func(d *display.Dependent) {
			message := b.message(key)
			changed = changed || d.Message != message
			d.Message = message
		})
	}
	if changed {
		b.show()
	}
}

// message says why a dependent is not ready; empty if it is.
func (b *Board) message(key display.Key) string {
	wait, reason := b.waits[key], b.reasons[key]
	if wait == "" || reason == "" {
		return wait
	}
	return wait + "; " + reason
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
	b.waits = releases.Messages(slices.Concat(result.Waits, result.Aftermath.Waits))
	maps.DeleteFunc(b.reasons, func(key display.Key, _ string) bool { return b.waits[key] == "" })
	b.failed = map[display.Key]bool{}
	for key, message := range releases.Messages(slices.Concat(result.Failures, result.Aftermath.Failures)) {
		b.failed[key] = message != ""
	}
	for key := range b.index {
		b.change(key, func(d *display.Dependent) {
			d.Message, d.Phase, d.Status = b.message(key), "", ""
			if item := left[key]; item != nil {
				d.Phase, d.Status = item.Phase, item.Status
			}
		})
	}
	for _, action := range result.Actions {
		for _, object := range action.Objects {
			b.change(display.KeyOf(object), func(d *display.Dependent) { d.Verb, d.Deed = b.told(*d, action.Verb), b.deed(*d, action.Verb) })
		}
	}
	b.show()
}

// told returns what is told of an object to which the operation does something. That it was updated after it was
// created or adopted is not worth telling. Nor is it if another client has changed the object between the two requests
// of its adoption: then the engine says only that the object was updated.
func (b *Board) told(d display.Dependent, now reconciler.Verb) reconciler.Verb {
	switch {
	case now != reconciler.VerbUpdated:
		return now
	case d.Verb == reconciler.VerbCreated || d.Verb == reconciler.VerbAdopted:
		return d.Verb
	case d.Verb == "" && b.adopted[d.Key()]:
		return reconciler.VerbAdopted
	default:
		return now
	}
}

// deed is what is told instead of a verb: the plan says of hooks that they run again, and of others that they are
// recreated.
func (b *Board) deed(d display.Dependent, now reconciler.Verb) string {
	if now == reconciler.VerbUpdated || now == reconciler.VerbCreated || now == reconciler.VerbRestored {
		return b.deeds[d.Key()]
	}
	return ""
}

// Finish shows how the operation ended. The board shows nothing afterwards. If the operation ended because another plan
// is needed, Finish shows nothing: the operation will begin again.
func (b *Board) Finish(outcome display.Outcome, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if releases.IsChanged(err) {
		if b.pending != nil {
			b.pending.Stop()
			b.pending = nil
		}
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
	b.shown = b.clock.Now()
	state := b.state
	state.Objects = slices.Clone(state.Objects)
	b.printer.Update(state)
}
