// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"slices"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// hold says which parts of a record have the finalizer, so that they outlive the deletion of their namespace. A chunk
// has it only if the index does.
type hold struct {
	index  bool
	chunks map[string]bool
}

// decideHold holds the parts of the record that must outlive the namespace: the inventories, if any dependent is
// outside of it, and the content of the current revision, if it has deletion hooks, which clm delete must run or skip.
// All other parts are deleted with the namespace. Once a release is being deleted, the parts stay held until the record
// is removed, so that the deletion can be completed.
func decideHold(next index, outside, held bool) hold {
	decided := hold{index: outside, chunks: map[string]bool{}}
	if outside {
		for _, list := range []*chunks.List{next.Inventory, next.HookInventory, next.TestInventory} {
			for _, name := range chunkNames(list) {
				decided.chunks[name] = true
			}
		}
	}
	if count := len(next.Revisions); count > 0 && next.Revisions[count-1].DeletionHooks > 0 {
		decided.index = true
		for _, name := range next.Revisions[count-1].Chunks {
			decided.chunks[name] = true
		}
	}
	if next.State == StateDeleting {
		decided.index = decided.index || held
	}
	return decided
}

// Outside reports whether the release has recorded an object that would outlive its namespace: one in another namespace
// or in none. Its own namespace does not count, nor does what has been deleted again because it had served its purpose.
func (r *Release) Outside() bool { return len(r.Beyond()) > 0 }

// Beyond returns the recorded objects because of which Outside is true.
func (r *Release) Beyond() []*reconciler.InventoryItem {
	return slices.DeleteFunc(slices.Concat(r.Inventory, r.HookInventory, r.TestInventory), func(item *reconciler.InventoryItem) bool {
		own := item.Group == "" && item.Kind == "Namespace" && item.Name == r.Namespace
		return item.Namespace == r.Namespace || own || item.Phase == reconciler.PhaseCompleted
	})
}

// Awaited reports whether the deletion of the record was requested, as that of everything in a namespace that is being
// deleted, and its finalizer holds it because of what else has to be deleted. It goes when the release is deleted.
func (r *Release) Awaited() bool { return r.stored.deleting && r.stored.held() }

func (s *stored) held() bool { return slices.Contains(s.finalizers, finalizer) }

// foreign are the finalizers of the index that are not ours.
func (s *stored) foreign() []string {
	return slices.DeleteFunc(append([]string{}, s.finalizers...), func(name string) bool { return name == finalizer })
}

// anyHeld reports whether one of the chunks has the finalizer.
func anyHeld(handles chunks.Handles) bool {
	for _, handle := range handles {
		if handle.Held {
			return true
		}
	}
	return false
}
