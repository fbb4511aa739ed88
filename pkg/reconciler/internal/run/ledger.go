// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// saveInterval is how old the last save must be for the end of a wave to cause another one. A save costs a write of the
// object that holds the inventory.
const saveInterval = 2 * time.Second

// Ledger is the inventory of one call while it changes. Items are changed concurrently, each by one goroutine at a
// time; the Ledger itself is changed by one goroutine.
type Ledger struct {
	// Items are all that are, or were, recorded.
	Items []*inventory.Item
	// Wanted are the items of desired objects, by the index of these.
	Wanted []*inventory.Item
	// DecisionsUnsaved means that the saved inventory does not say yet that some items are going to be orphaned, or
	// that their deletion is approved.
	DecisionsUnsaved bool

	store Saver
	clock clock.PassiveClock
	gone  map[*inventory.Item]bool
	saved time.Time

	named func() map[name][]*inventory.Item // wanted items by their names, whatever their groups are
}

// Saver persists an inventory; see the Store of an owner.
type Saver interface {
	Save(ctx context.Context, inventory []*inventory.Item) error
}

// NewLedger returns a ledger of items, none of which is wanted.
func NewLedger(items []*inventory.Item, store Saver, clock clock.PassiveClock) *Ledger {
	l := &Ledger{Items: items, store: store, clock: clock, gone: map[*inventory.Item]bool{}, saved: clock.Now()}
	l.named = sync.OnceValue(func() map[name][]*inventory.Item {
		named := make(map[name][]*inventory.Item, len(l.Wanted))
		for _, item := range l.Wanted {
			named[nameOfItem(item)] = append(named[nameOfItem(item)], item)
		}
		return named
	})
	return l
}

// name is what objects have in common that an API server may serve in several groups.
type name struct{ kind, namespace, name string }

func nameOfItem(item *inventory.Item) name { return name{item.Kind, item.Namespace, item.Name} }

// Want sets the items of some of the desired objects of the request, in the order of these; count is the number of all.
func (l *Ledger) Want(count int, wanted []*prepare.Object, items []*inventory.Item) {
	if l.Wanted == nil {
		l.Wanted = make([]*inventory.Item, count)
	}
	for i, t := range wanted {
		l.Wanted[t.Index] = items[i]
	}
}

// Of returns the item of a desired object.
func (l *Ledger) Of(t *prepare.Object) *inventory.Item { return l.Wanted[t.Index] }

// Drop removes an item from the inventory.
func (l *Ledger) Drop(item *inventory.Item) { l.gone[item] = true }

// Redundant returns the items of redundant objects.
func (l *Ledger) Redundant() []*inventory.Item {
	var redundant []*inventory.Item
	for _, item := range l.Items {
		if decide.IsRedundant(item) {
			redundant = append(redundant, item)
		}
	}
	return redundant
}

// Save persists the current inventory.
func (l *Ledger) Save(ctx context.Context) error {
	if err := l.store.Save(ctx, l.Snapshot()); err != nil {
		return &execute.UnsavedError{Err: err}
	}
	l.saved, l.DecisionsUnsaved = l.clock.Now(), false
	return nil
}

// Checkpoint saves the inventory unless the last save is recent.
func (l *Ledger) Checkpoint(ctx context.Context) error {
	if l.clock.Since(l.saved) < saveInterval {
		return nil
	}
	return l.Save(ctx)
}

// Snapshot returns copies of the items that are still recorded.
func (l *Ledger) Snapshot() []*inventory.Item {
	items := l.Remaining()
	copies := make([]inventory.Item, len(items))
	for i, item := range items {
		copies[i] = *item
		items[i] = &copies[i]
	}
	return items
}

// Remaining returns the items that are still recorded.
func (l *Ledger) Remaining() []*inventory.Item {
	items := make([]*inventory.Item, 0, len(l.Items))
	for _, item := range l.Items {
		if !l.gone[item] {
			items = append(items, item)
		}
	}
	return items
}
