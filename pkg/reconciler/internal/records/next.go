// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"slices"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/policies"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Plan is what a call of Apply is going to record, decided without looking at the cluster.
type Plan struct {
	// Items is the next inventory, sorted.
	Items []*inventory.Item
	// Wanted are the items of the targets, in the order of these.
	Wanted []*inventory.Item
	// applied are the delete policies by which the objects of the targets may have been written before, or as good as that; empty if there are none.
	applied []inventory.DeletePolicy
	// Grown means that there are items which the recorded inventory lacks, or has as good as gone; they must be recorded
	// before the first write.
	Grown bool
	// Releases means that there are items to be released of which the recorded inventory does not say so; that must be recorded
	// before the first of them is.
	Releases bool
}

// Next compares the targets with what is recorded. Items of the old inventory are not changed.
func Next(wanted []*targets.Target, before []*inventory.Item) Plan {
	old := make(map[types.ObjectID]int, len(before))
	for i, item := range before {
		old[types.IDOf(item)] = i
	}
	p := Plan{Wanted: make([]*inventory.Item, len(wanted)), applied: make([]inventory.DeletePolicy, len(wanted))}
	// What was recorded keeps its place, so that there is little to sort.
	next := make([]*inventory.Item, len(before), len(before)+len(wanted))
	// One piece of memory for all: a pass begins with a copy of everything that is recorded.
	copies := make([]inventory.Item, len(wanted))
	for i, t := range wanted {
		item := &copies[i]
		p.Wanted[i] = item
		at, known := recordedAt(t, old, before)
		if known {
			*item, next[at] = *before[at], item
			delete(old, types.IDOf(before[at]))
		} else {
			item.Name = t.Key.Name
			next = append(next, item)
		}
		recorded := *item
		item.Namespace = t.Key.Namespace
		planWanted(t, item)
		p.applied[i] = appliedPolicy(&recorded)
		again := item.Phase == inventory.PhaseScheduledForApplication && (IsUnwanted(&recorded) || IsCompleting(&recorded) || recorded.Phase == inventory.PhaseFailed)
		// Whoever finds only the old record would not delete what is created now.
		p.Grown = p.Grown || again || !known || recorded.Namespace != item.Namespace
	}
	for i, item := range before {
		if next[i] != nil {
			continue
		}
		// Of an object that is recorded twice, one record counts: the other one must not have it deleted.
		if at, left := old[types.IDOf(item)]; left && at == i {
			next[i] = p.unwant(item)
		}
	}
	p.Items = slices.DeleteFunc(next, func(item *inventory.Item) bool { return item == nil })
	Sort(p.Items)
	return p
}

// unwant plans the end of an object that is not among the targets.
func (p *Plan) unwant(recorded *inventory.Item) *inventory.Item {
	item := Unwanted(recorded, policies.IsOrphanedOnApply)
	p.Releases = p.Releases || ReleasesAnew(recorded, item)
	return item
}

// appliedPolicy returns the delete policy by which a recorded object may have been written; empty if its end was decided.
func appliedPolicy(recorded *inventory.Item) inventory.DeletePolicy {
	if IsUnwanted(recorded) || IsCompleting(recorded) {
		return ""
	}
	return recorded.DeletePolicy
}

// Spare has those objects that are yet to be written released wherever the policy that was applied before says so, or the new one does: whoever
// deletes the owner, or takes the object out of the manifests, does not know how far the writes came. It must be called before the plan
// is recorded.
func (p *Plan) Spare() {
	for i, item := range p.Wanted {
		applied := p.applied[i]
		if item.Phase != inventory.PhaseScheduledForApplication || applied == "" {
			continue
		}
		item.DeletePolicy = policies.Join(item.DeletePolicy, applied)
		// The object must not carry a policy that protects it, and its record one that does not.
		p.Grown = p.Grown || item.DeletePolicy != policies.Join(applied, applied)
	}
}

// recordedAt returns where an object is recorded, be it without the namespace that was not known before its type was served.
func recordedAt(t *targets.Target, old map[types.ObjectID]int, before []*inventory.Item) (at int, known bool) {
	if at, known = old[t.Key]; known || t.Key.Namespace == "" {
		return at, known
	}
	at, known = old[types.ObjectID{GroupKind: t.Key.GroupKind, Name: t.Key.Name}]
	return at, known && !IsTouched(before[at])
}

// planWanted changes a copy of what is recorded to what is to be.
func planWanted(t *targets.Target, item *inventory.Item) {
	item.TypeVersionInfo = inventory.TypeVersionInfo(t.GVK())
	item.AdoptionPolicy = t.Adoption
	item.ReconcilePolicy = t.Reconcile
	item.UpdatePolicy = t.Update
	item.DeletePolicy = t.Delete
	item.ApplyOrder = t.ApplyOrder
	item.DeleteOrder = t.DeleteOrder
	item.ManagedTypes = t.ManagedTypes
	switch {
	case item.Digest == t.Digest:
	case t.Former != "" && item.Digest == t.Former:
		// It says the same in another way.
		item.Digest = t.Digest
	case t.Digest == targets.DigestOnce && (IsWritten(item) || IsCompleting(item)):
		// It was applied as often as it ought to be, whatever was meant before.
		item.Digest = t.Digest
	case item.Phase == inventory.PhaseCompleted && IsByAncestor(item):
		// A difference says nothing; what was purged is not run again merely because the rules differ.
		item.Digest = t.Digest
	default:
		item.Digest = t.Digest
		item.Phase = inventory.PhaseScheduledForApplication
		item.Status = status.InProgressStatus
	}
}

// Unwanted returns nil if nothing has to be done about the item. Whether the object is to be released or deleted is decided once, when it
// ceases to be wanted.
func Unwanted(recorded *inventory.Item, orphaned func(inventory.DeletePolicy) bool) *inventory.Item {
	if recorded.Phase == inventory.PhaseCompleted || IsDismissed(recorded) {
		return nil
	}
	item := recorded.DeepCopy()
	if item.Phase != inventory.PhaseDeleting {
		item.Phase = inventory.PhaseScheduledForDeletion
	}
	item.Digest = ""
	item.Status = status.TerminatingStatus
	item.DeletePolicy = policies.Final(item.DeletePolicy, orphaned)
	return item
}

// ReleasesAnew reports whether an object is to be released, and its record does not say so: whoever finds the old record might delete what belongs
// to others by then. The planned item is nil if nothing has to be done.
func ReleasesAnew(recorded, planned *inventory.Item) bool {
	return planned != nil && planned.DeletePolicy == inventory.DeletePolicyOrphan && recorded.DeletePolicy != inventory.DeletePolicyOrphan
}
