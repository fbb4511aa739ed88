// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/clm/internal/objects"
	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// A Board holds what there is to say about an operation, and shows it whenever something has changed.
type Board struct {
	printer progress.Printer
	clock   clock.PassiveClock

	mu      sync.Mutex
	state   progress.State
	index   map[string]int // of objects, by the text that names them, which does not depend on the version
	notes   map[string]bool
	shown   time.Time
	pending *time.Timer // that shows what was not shown yet; nil if there is nothing
}

// showInterval is how often objects that change one after the other are shown. Each time costs by the number of all objects.
const showInterval = 100 * time.Millisecond

// NewBoard returns a board of an operation on a release, at a revision if that is not 0, which shows by the printer of the connection how the operation goes.
func NewBoard(c *connection.Connection, operation, release string, revision int64) *Board {
	return newBoard(c.Printer(), c.Clock(), progress.State{Operation: operation, Release: release, Revision: revision})
}

// NewQuietBoard returns a board that shows nothing.
func NewQuietBoard(c *connection.Connection) *Board {
	return newBoard(progress.Silent{}, c.Clock(), progress.State{})
}

func newBoard(printer progress.Printer, clock clock.PassiveClock, state progress.State) *Board {
	return &Board{printer: printer, clock: clock, state: state, index: map[string]int{}, notes: map[string]bool{}}
}

// Say shows what the operation as a whole is about.
func (b *Board) Say(phase string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Phase = phase
	b.show()
}

// trouble shows what keeps the operation from going on for now.
func (b *Board) trouble(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Message = err.Error()
	b.show()
}

// Expect adds the dependents of an inventory that are applied.
func (b *Board) Expect(inventory []*reconciler.InventoryItem) {
	b.expect(inventory, func(item *reconciler.InventoryItem) int { return item.ApplyOrder })
}

// ExpectDeletion adds the dependents of an inventory that are deleted.
func (b *Board) ExpectDeletion(inventory []*reconciler.InventoryItem) {
	b.expect(inventory, func(item *reconciler.InventoryItem) int { return item.DeleteOrder })
}

// expect adds the dependents of an inventory, whose wave is what the function says.
func (b *Board) expect(inventory []*reconciler.InventoryItem, wave func(item *reconciler.InventoryItem) int) {
	objects := make([]progress.Object, len(inventory))
	for i, item := range inventory {
		objects[i] = progress.Object{Key: progress.KeyOf(item), Wave: wave(item), Phase: item.Phase, Status: item.Status}
	}
	b.add(objects)
}

// ExpectChanges adds the objects of a plan that are wanted.
func (b *Board) ExpectChanges(changes []reconciler.Change) {
	var objects []progress.Object
	for _, change := range changes {
		if change.Digest != "" {
			objects = append(objects, progress.Object{Key: progress.KeyOf(change.Object), Wave: change.Wave})
		}
	}
	b.add(objects)
}

// add adds the objects that are not there yet, in the order of their waves.
func (b *Board) add(objects []progress.Object) {
	b.mu.Lock()
	defer b.mu.Unlock()
	more := false
	for _, object := range objects {
		if _, known := b.index[object.Key.String()]; known {
			continue
		}
		object.Since = b.clock.Now()
		b.index[object.Key.String()] = -1
		b.state.Objects = append(b.state.Objects, object)
		more = true
	}
	if !more {
		return
	}
	slices.SortStableFunc(b.state.Objects, func(a, b progress.Object) int { return cmp.Compare(a.Wave, b.Wave) })
	for i, object := range b.state.Objects {
		b.index[object.Key.String()] = i
	}
}

// change shows an object as the function changes it, and notes since when it is so.
func (b *Board) change(text string, change func(object *progress.Object)) {
	at, known := b.index[text]
	if !known {
		return
	}
	object := &b.state.Objects[at]
	before := *object
	change(object)
	if object.Phase != before.Phase || object.Status != before.Status || object.Verb != before.Verb {
		object.Since = b.clock.Now()
	}
}

// seen takes the response of a write into account.
func (b *Board) seen(key types.ObjectKey, found status.Status, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change(objects.Text(key), func(object *progress.Object) {
		object.Status, object.Wait = found, message
		switch {
		case found == status.CurrentStatus:
			object.Phase, object.Wait = reconciler.PhaseReady, ""
		case object.Phase == reconciler.PhaseScheduledForApplication || object.Phase == "":
			object.Phase = reconciler.PhaseUpdating
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

// Took takes the result of a call of the engine into account. The error is one that is going to be retried. A phase that is empty is the one
// before.
func (b *Board) Took(result reconciler.Result, err error, phase string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Message = ""
	if phase != "" {
		b.state.Phase = phase
	}
	if err != nil {
		b.state.Message = err.Error()
	}
	left := map[string]*reconciler.InventoryItem{}
	for _, item := range result.Inventory {
		left[objects.Text(item)] = item
	}
	for _, notice := range slices.Concat(result.Notes, result.Drift) {
		b.notes[objects.Text(notice.Object)+": "+notice.Message] = true
	}
	waits, failed := failures.Messages(result.Waits), failures.Messages(result.Failures)
	for text := range b.index {
		b.change(text, func(object *progress.Object) {
			object.Wait, object.Failed = waits[text], failed[text] != ""
			if item := left[text]; item != nil {
				object.Phase, object.Status = item.Phase, item.Status
			} else {
				object.Phase, object.Status = "", ""
			}
		})
	}
	for _, action := range result.Actions {
		for _, key := range action.Objects {
			b.change(objects.Text(key), func(object *progress.Object) { object.Verb = action.Verb })
		}
	}
	b.show()
}

// Finish shows how the operation ended, and nothing is shown afterwards. If it ended because another plan is needed, it is not shown: the operation is
// going to be begun anew.
func (b *Board) Finish(outcome progress.Outcome, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if failures.IsChanged(err) {
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
