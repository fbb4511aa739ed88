// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// A board holds what there is to say about an operation, and shows it whenever something has changed.
type board struct {
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

func newBoard(s *Session, operation, release string) *board {
	return &board{
		printer: s.options.Printer, clock: s.options.Clock,
		state: progress.State{Operation: operation, Release: release}, index: map[string]int{}, notes: map[string]bool{},
	}
}

// say shows what the operation as a whole is about.
func (b *board) say(phase string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Phase = phase
	b.show()
}

// trouble shows what keeps the operation from going on for now.
func (b *board) trouble(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Message = err.Error()
	b.show()
}

// expect adds the dependents of an inventory, whose wave is what the function says.
func (b *board) expect(inventory []*reconciler.InventoryItem, wave func(item *reconciler.InventoryItem) int) {
	objects := make([]progress.Object, len(inventory))
	for i, item := range inventory {
		objects[i] = progress.Object{Key: progress.KeyOf(item), Wave: wave(item), Phase: item.Phase, Status: item.Status}
	}
	b.add(objects)
}

// expectChanges adds the objects of a plan that are wanted.
func (b *board) expectChanges(changes []reconciler.Change) {
	var objects []progress.Object
	for _, change := range changes {
		if change.Digest != "" {
			objects = append(objects, progress.Object{Key: progress.KeyOf(change.Object), Wave: change.Wave})
		}
	}
	b.add(objects)
}

// add adds the objects that are not there yet, in the order of their waves.
func (b *board) add(objects []progress.Object) {
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
func (b *board) change(text string, change func(object *progress.Object)) {
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
func (b *board) seen(key types.ObjectKey, found status.Status, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change(objectText(key), func(object *progress.Object) {
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

// took takes the result of a call of the engine into account. The error is one that is going to be retried. A phase that is empty is the one
// before.
func (b *board) took(result reconciler.Result, err error, phase string) {
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
		left[objectText(item)] = item
	}
	for _, notice := range slices.Concat(result.Notes, result.Drift) {
		b.notes[objectText(notice.Object)+": "+notice.Message] = true
	}
	waits, failed := notices(result.Waits), notices(result.Failures)
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
			b.change(objectText(key), func(object *progress.Object) { object.Verb = action.Verb })
		}
	}
	b.show()
}

// finish shows how the operation ended, and nothing is shown afterwards. If it ended because another plan is needed, it is not shown: the operation is
// going to be begun anew.
func (b *board) finish(outcome progress.Outcome, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if IsChanged(err) {
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

func notices(list []reconciler.Notice) map[string]string {
	texts := make(map[string]string, len(list))
	for _, notice := range list {
		texts[objectText(notice.Object)] = notice.Message
	}
	return texts
}

// show hands a copy to the printer, which may keep it.
func (b *board) show() {
	if b.pending != nil {
		b.pending.Stop()
		b.pending = nil
	}
	b.shown = b.clock.Now()
	state := b.state
	state.Objects = slices.Clone(state.Objects)
	b.printer.Update(state)
}
