// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"strings"

	"github.com/component-operator/runtime/pkg/status"
)

// plan is what a call of Apply is going to do, decided without looking at the cluster.
type plan struct {
	// items is the next inventory, sorted.
	items []*InventoryItem
	// grown means that there are items which the recorded inventory lacks, or has as good as gone; they must be recorded
	// before the first write.
	grown bool
}

// planInventory compares the targets with what is recorded. Items of the old inventory are not changed.
func planInventory(targets []*target, inventory []*InventoryItem) plan {
	old := make(map[objectKey]*InventoryItem, len(inventory))
	for _, item := range inventory {
		old[keyOf(item)] = item
	}
	var p plan
	wanted := make(map[objectKey]bool, len(targets))
	for _, t := range targets {
		wanted[t.key] = true
		recorded, ok := old[t.key]
		if before := (objectKey{GroupKind: t.key.GroupKind, name: t.key.name}); !ok && t.key.namespace != "" && old[before] != nil && !old[before].touched() {
			// It was recorded before its type was served, and its namespace known.
			recorded, ok = old[before].DeepCopy(), true
			recorded.Namespace = t.key.namespace
			delete(old, before)
			p.grown = true
		}
		if !ok {
			recorded = &InventoryItem{NameInfo: NameInfo{Namespace: t.key.namespace, Name: t.key.name}}
			p.grown = true
		}
		item := planWanted(t, recorded)
		if item.Phase == PhaseScheduledForApplication && (recorded.unwanted() || recorded.completing()) {
			// Whoever finds only the old record would not delete what is created now.
			p.grown = true
		}
		p.items = append(p.items, item)
	}
	for key, item := range old {
		if wanted[key] {
			continue
		}
		if unwanted := planUnwanted(item); unwanted != nil {
			p.items = append(p.items, unwanted)
		}
	}
	sortInventory(p.items)
	return p
}

func planWanted(t *target, recorded *InventoryItem) *InventoryItem {
	item := recorded.DeepCopy()
	item.TypeVersionInfo = TypeVersionInfo(t.gvk())
	item.AdoptionPolicy = t.adoption
	item.ReconcilePolicy = t.reconcile
	item.UpdatePolicy = t.update
	item.DeletePolicy = t.delete
	item.ApplyOrder = t.applyOrder
	item.DeleteOrder = t.deleteOrder
	item.ManagedTypes = t.managedTypes
	switch {
	case item.Digest == t.digest:
	case item.Phase == PhaseCompleted && item.byAncestor():
		// A difference says nothing; what was purged is not run again merely because the rules differ.
		item.Digest = t.digest
	default:
		item.Digest = t.digest
		item.Phase = PhaseScheduledForApplication
		item.Status = status.InProgressStatus
	}
	return item
}

// planUnwanted returns nil if nothing has to be done about the item.
func planUnwanted(recorded *InventoryItem) *InventoryItem {
	if recorded.Phase == PhaseCompleted {
		return nil
	}
	item := recorded.DeepCopy()
	if item.Phase != PhaseDeleting {
		item.Phase = PhaseScheduledForDeletion
	}
	item.Digest = ""
	item.Status = status.TerminatingStatus
	return item
}

// touched tells whether there may be an object.
func (i *InventoryItem) touched() bool {
	return i.Phase != PhaseScheduledForApplication || i.UID != "" || i.LastAppliedAt != nil
}

// byAncestor tells whether the recorded digest was computed by other rules than ours.
func (i *InventoryItem) byAncestor() bool {
	return i.Digest != "" && i.Digest != digestOnce && !strings.HasPrefix(i.Digest, digestRules)
}

// written tells whether the recorded digest was written to the cluster.
func (i *InventoryItem) written() bool {
	switch i.Phase {
	case PhaseCreating, PhaseUpdating, PhaseReady:
		return true
	case PhaseScheduledForApplication, PhaseScheduledForDeletion, PhaseScheduledForCompletion, PhaseDeleting, PhaseCompleting, PhaseCompleted:
		return false
	default:
		return false
	}
}

// completing tells whether the object is being, or was, purged.
func (i *InventoryItem) completing() bool {
	switch i.Phase {
	case PhaseScheduledForCompletion, PhaseCompleting, PhaseCompleted:
		return true
	case PhaseScheduledForApplication, PhaseScheduledForDeletion, PhaseCreating, PhaseUpdating, PhaseDeleting, PhaseReady:
		return false
	default:
		return false
	}
}

// unwanted tells whether the object is no longer among the manifests.
func (i *InventoryItem) unwanted() bool {
	return i.Phase == PhaseScheduledForDeletion || i.Phase == PhaseDeleting
}
