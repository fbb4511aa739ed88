// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"slices"

	"github.com/component-operator/runtime/pkg/component/internal/items"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// CustomResourceDefinitions that an earlier version generated list the phases of dependents, and lack Failed: the server
// refuses each status that has it. There, a dependent that has failed is recorded as completed with the status Failed,
// which no other dependent has.

// inventories returns the lists of items that the status has.
func (s *Status) inventories() []*[]*reconciler.InventoryItem {
	lists := []*[]*reconciler.InventoryItem{&s.Inventory}
	if s.DeletionHooks != nil {
		lists = append(lists, &s.DeletionHooks.Inventory)
	}
	return lists
}

// recognizeFailures gives items their phase Failed back, and reports whether there were any that had to be recorded without.
func (s *Status) recognizeFailures() bool {
	found := false
	for _, list := range s.inventories() {
		for _, item := range *list {
			if items.IsFormerFailure(item) {
				item.Phase, found = reconciler.PhaseFailed, true
			}
		}
	}
	return found
}

// disguiseFailures records items of phase Failed without it. The returned function undoes that.
func (s *Status) disguiseFailures() (undo func()) {
	var undos []func()
	for _, list := range s.inventories() {
		original := *list
		undos = append(undos, func() { *list = original })
		*list = slices.Clone(original)
		for i, item := range original {
			if items.HasFailed(item) {
				disguised := *item
				disguised.Phase, disguised.Status = reconciler.PhaseCompleted, status.FailedStatus
				(*list)[i] = &disguised
			}
		}
	}
	return func() {
		for _, undo := range undos {
			undo()
		}
	}
}

// mayDisguise reports whether a status that was refused may be accepted if failures are recorded otherwise.
func (s *scope) mayDisguise() bool {
	return !s.memory.disguises && slices.ContainsFunc(s.status.inventories(), func(list *[]*reconciler.InventoryItem) bool {
		return slices.ContainsFunc(*list, items.HasFailed)
	})
}
