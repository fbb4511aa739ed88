// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"slices"
	"strings"

	"github.com/component-operator/runtime/pkg/status"
)

// inventoryPlan is what a call of Apply is going to record, decided without looking at the cluster.
type inventoryPlan struct {
	// items is the next inventory, sorted.
	items []*InventoryItem
	// wanted are the items of the targets, in the order of these.
	wanted []*InventoryItem
	// applied are the delete policies by which the objects of the targets may have been written before, or as good as that; empty if there are none.
	applied []DeletePolicy
	// grown means that there are items which the recorded inventory lacks, or has as good as gone; they must be recorded
	// before the first write.
	grown bool
	// releases means that there are items to be released of which the recorded inventory does not say so; that must be recorded
	// before the first of them is.
	releases bool
}

// planInventory compares the targets with what is recorded. Items of the old inventory are not changed.
func planInventory(targets []*target, inventory []*InventoryItem) inventoryPlan {
	old := make(map[objectKey]int, len(inventory))
	for i, item := range inventory {
		old[keyOf(item)] = i
	}
	p := inventoryPlan{wanted: make([]*InventoryItem, len(targets)), applied: make([]DeletePolicy, len(targets))}
	// What was recorded keeps its place, so that there is little to sort.
	next := make([]*InventoryItem, len(inventory), len(inventory)+len(targets))
	// One piece of memory for all: a pass begins with a copy of everything that is recorded.
	copies := make([]InventoryItem, len(targets))
	for i, t := range targets {
		item := &copies[i]
		p.wanted[i] = item
		at, known := recordedAt(t, old, inventory)
		if known {
			*item, next[at] = *inventory[at], item
			delete(old, keyOf(inventory[at]))
		} else {
			item.Name = t.key.name
			next = append(next, item)
		}
		recorded := *item
		item.Namespace = t.key.namespace
		planWanted(t, item)
		p.applied[i] = appliedPolicy(&recorded)
		again := item.Phase == PhaseScheduledForApplication && (recorded.unwanted() || recorded.completing() || recorded.Phase == PhaseFailed)
		// Whoever finds only the old record would not delete what is created now.
		p.grown = p.grown || again || !known || recorded.Namespace != item.Namespace
	}
	for i, item := range inventory {
		if next[i] != nil {
			continue
		}
		// Of an object that is recorded twice, one record counts: the other one must not have it deleted.
		if at, left := old[keyOf(item)]; left && at == i {
			next[i] = p.unwant(item)
		}
	}
	p.items = slices.DeleteFunc(next, func(item *InventoryItem) bool { return item == nil })
	sortInventory(p.items)
	return p
}

// unwant plans the end of an object that is not among the targets.
func (p *inventoryPlan) unwant(recorded *InventoryItem) *InventoryItem {
	item := planUnwanted(recorded, DeletePolicy.orphanedOnApply)
	p.releases = p.releases || releasesAnew(recorded, item)
	return item
}

// appliedPolicy returns the delete policy by which a recorded object may have been written; empty if its end was decided.
func appliedPolicy(recorded *InventoryItem) DeletePolicy {
	if recorded.unwanted() || recorded.completing() {
		return ""
	}
	return recorded.DeletePolicy
}

// spare has those objects that are yet to be written released wherever the policy that was applied before says so, or the new one does: whoever
// deletes the owner, or takes the object out of the manifests, does not know how far the writes came. It must be called before the plan
// is recorded.
func (p *inventoryPlan) spare() {
	for i, item := range p.wanted {
		applied := p.applied[i]
		if item.Phase != PhaseScheduledForApplication || applied == "" {
			continue
		}
		item.DeletePolicy = item.DeletePolicy.or(applied)
		// The object must not carry a policy that protects it, and its record one that does not.
		p.grown = p.grown || item.DeletePolicy != applied.or(applied)
	}
}

// recordedAt returns where an object is recorded, be it without the namespace that was not known before its type was served.
func recordedAt(t *target, old map[objectKey]int, inventory []*InventoryItem) (at int, known bool) {
	if at, known = old[t.key]; known || t.key.namespace == "" {
		return at, known
	}
	at, known = old[objectKey{GroupKind: t.key.GroupKind, name: t.key.name}]
	return at, known && !inventory[at].touched()
}

// planWanted changes a copy of what is recorded to what is to be.
func planWanted(t *target, item *InventoryItem) {
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
	case t.former != "" && item.Digest == t.former:
		// It says the same in another way.
		item.Digest = t.digest
	case t.digest == digestOnce && (item.written() || item.completing()):
		// It was applied as often as it ought to be, whatever was meant before.
		item.Digest = t.digest
	case item.Phase == PhaseCompleted && item.byAncestor():
		// A difference says nothing; what was purged is not run again merely because the rules differ.
		item.Digest = t.digest
	default:
		item.Digest = t.digest
		item.Phase = PhaseScheduledForApplication
		item.Status = status.InProgressStatus
	}
}

// planUnwanted returns nil if nothing has to be done about the item. Whether the object is to be released or deleted is decided once, when it
// ceases to be wanted.
func planUnwanted(recorded *InventoryItem, orphaned func(DeletePolicy) bool) *InventoryItem {
	if recorded.Phase == PhaseCompleted || recorded.dismissed() {
		return nil
	}
	item := recorded.DeepCopy()
	if item.Phase != PhaseDeleting {
		item.Phase = PhaseScheduledForDeletion
	}
	item.Digest = ""
	item.Status = status.TerminatingStatus
	item.DeletePolicy = item.DeletePolicy.final(orphaned)
	return item
}

// releasesAnew reports whether an object is to be released, and its record does not say so: whoever finds the old record might delete what belongs
// to others by then. The planned item is nil if nothing has to be done.
func releasesAnew(recorded, planned *InventoryItem) bool {
	return planned != nil && planned.DeletePolicy == DeletePolicyOrphan && recorded.DeletePolicy != DeletePolicyOrphan
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
	case PhaseScheduledForApplication, PhaseScheduledForDeletion, PhaseScheduledForCompletion, PhaseDeleting, PhaseCompleting, PhaseCompleted, PhaseFailed:
		return false
	default:
		return false
	}
}

// dismissed tells whether the object has failed, and nothing of it is left.
func (i *InventoryItem) dismissed() bool {
	return i.Phase == PhaseFailed && i.UID == ""
}

// completing tells whether the object is being, or was, purged.
func (i *InventoryItem) completing() bool {
	switch i.Phase {
	case PhaseScheduledForCompletion, PhaseCompleting, PhaseCompleted:
		return true
	case PhaseScheduledForApplication, PhaseScheduledForDeletion, PhaseCreating, PhaseUpdating, PhaseDeleting, PhaseReady, PhaseFailed:
		return false
	default:
		return false
	}
}

// unwanted tells whether the object is no longer among the manifests.
func (i *InventoryItem) unwanted() bool {
	return i.Phase == PhaseScheduledForDeletion || i.Phase == PhaseDeleting
}
