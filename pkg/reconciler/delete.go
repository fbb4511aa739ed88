// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/status"
)

// Delete deletes, or releases, all objects that the inventory records, wave by wave, each wave when the one before is gone.
// That CheckDeletion found nothing that forbids it is up to the caller. It goes as far as it can without waiting; Done
// means that nothing is left.
func (r *Reconciler) Delete(ctx context.Context, request DeleteRequest) (Result, error) {
	var items []*InventoryItem
	releases := false
	for _, recorded := range request.Inventory {
		if item := planUnwanted(recorded, DeletePolicy.orphanedOnDelete); item != nil {
			items = append(items, item)
			releases = releases || releasesAnew(recorded, item)
		}
	}
	request.settle(items)
	sortInventory(items)
	p := r.newPass(request.Owner, items)
	p.releases = releases
	ctx = flow.WithLimiter(ctx, p.flow)
	if err := p.watch(ctx, nil, stageRegular); err != nil {
		return r.retreat(ctx, request.Owner, err)
	}
	gone, err := p.deleteWaves(ctx, slices.Clone(items))
	err = p.liftUnreached(ctx, err)
	p.result.Done = gone && err == nil
	if p.result.Done {
		if err := r.cache.Watch(ctx, p.label, nil); err != nil {
			return p.finish(), err
		}
	}
	return p.finish(), err
}

// deletionStage ranks items within a wave; each stage begins when the one before is gone.
type deletionStage int

const (
	deletionInstances  deletionStage = iota // of types that other items define
	deletionRegular                         // all others
	deletionNamespaces                      // they take with them what is in them
)

// deleteWaves is the only loop that deletes or releases dependents. It reports whether all items are gone. What is to be released is recorded as such
// before.
func (p *pass) deleteWaves(ctx context.Context, items []*InventoryItem) (gone bool, err error) {
	if p.releases {
		if err := p.save(ctx); err != nil {
			return false, err
		}
	}
	rank := p.sortDeletion(items)
	for _, wave := range group(items, func(item *InventoryItem) int { return item.DeleteOrder }) {
		for _, members := range group(wave, rank) {
			if gone, err := p.deleteStage(ctx, group(members, deletionTier), len(wave)); err != nil || !gone {
				return false, err
			}
		}
		if err := p.checkpoint(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// sortDeletion puts items into the order in which they are deleted, and returns what ranks them within a wave.
func (p *pass) sortDeletion(items []*InventoryItem) (rank func(*InventoryItem) deletionStage) {
	types := newTypeSet(p.additionalTypes(p.owner))
	for _, item := range p.items {
		if len(item.ManagedTypes) > 0 {
			types.items[keyOf(item)] = item.ManagedTypes
		}
	}
	rank = func(item *InventoryItem) deletionStage {
		switch {
		case types.instance(item.GroupVersionKind()):
			return deletionInstances
		case isNamespace(item.GroupVersionKind().GroupKind()):
			return deletionNamespaces
		default:
			return deletionRegular
		}
	}
	slices.SortStableFunc(items, func(a, b *InventoryItem) int {
		return cmp.Or(cmp.Compare(a.DeleteOrder, b.DeleteOrder), cmp.Compare(rank(a), rank(b)), cmp.Compare(deletionTier(a), deletionTier(b)), compareKeys(keyOf(a), keyOf(b)))
	})
	return rank
}

func deletionTier(item *InventoryItem) int { return deleteTier(item.GroupVersionKind().GroupKind()) }

// deleteStage deletes tier by tier, and reports whether all are gone. The others of the stage are deleted even if one object cannot be, or takes
// its time.
func (p *pass) deleteStage(ctx context.Context, tiers [][]*InventoryItem, waveSize int) (gone bool, err error) {
	gone = true
	var failures []error
	for _, tier := range tiers {
		remaining, err := p.deleteTier(ctx, tier)
		if err != nil {
			failures = append(failures, fmt.Errorf("deleting wave %d: %w", tier[0].DeleteOrder, err))
			if !isAboutObjects(err) || definesTypes(tier[0].GroupVersionKind().GroupKind()) {
				break
			}
		}
		// What serves types goes after them: as long as there are, or may turn out to be, instances, it is still needed.
		needed := false
		for _, o := range remaining {
			gone = false
			needed = needed || o.securing || o.instances != ""
			p.note(&p.result.Waits, o.item, o.message)
		}
		if needed {
			break
		}
	}
	if !gone || len(failures) > 0 {
		p.result.Wave, p.result.WaveSize = tiers[0][0].DeleteOrder, waveSize
	}
	return gone && len(failures) == 0, joined(failures...)
}

// isAboutObjects reports whether an error is about single objects: the pass itself may go on.
func isAboutObjects(err error) bool {
	var fenced *FencedError
	var stale *StaleError
	return !errors.As(err, &fenced) && !errors.As(err, &stale) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

func (p *pass) deleteTier(ctx context.Context, tier []*InventoryItem) ([]outcome, error) {
	var t tally
	work := func(item *InventoryItem) (outcome, error) {
		return p.deleteOne(ctx, item, deletion{orphan: item.DeletePolicy == DeletePolicyOrphan, verb: VerbDeleted, wave: item.DeleteOrder})
	}
	each(ctx, p.flow, tier, func(item *InventoryItem) { t.add(work(item)) })
	p.enclose(ctx, &t, work)
	for _, item := range t.ready {
		p.gone[item] = true
	}
	return t.unready, t.err()
}

// deletion says how a dependent is to go.
type deletion struct {
	orphan bool // release it instead
	verb   Verb // what is reported when it is gone
	wave   int  // in which this happens
}

// ending is what is to be done about one unwanted object.
type ending int

const (
	endingGone   ending = iota // it is gone, or not ours (any more)
	endingAwait                // it is being deleted
	endingDelete               // request its deletion
	endingOrphan               // release it
	endingForget               // it stays, because it is wanted under another type
	endingRefuse               // it must not be deleted, and cannot be forgotten either
)

// notOurs says why a recorded object is neither deleted nor released.
const notOurs = "is recorded as a dependent, but has neither our label nor fields that we wrote, and is left alone"

// recordsStay says why an object that is recorded as a dependent, and in which somebody records his dependents, is neither deleted nor released.
const recordsStay = "is part of a record of dependents, and is left alone"

// decideDelete decides what to do about an unwanted object. It is a pure function.
func decideDelete(item *InventoryItem, s situation, orphan bool) (ending, string) {
	switch {
	case !s.exists:
		return endingGone, ""
	case s.wantedAs != "":
		return endingForget, "is the same object as " + s.wantedAs + ", which stays"
	}
	if why, foreign := s.foreign(item); foreign {
		return endingGone, why
	}
	switch {
	case orphan && s.wasReleased(item):
		return endingGone, ""
	case s.seen.Deleting:
		return endingAwait, s.leaving()
	case orphan:
		return endingOrphan, ""
	case item.UID != "" && s.seen.UID != item.UID && item.Phase != PhaseScheduledForDeletion && item.Phase != PhaseScheduledForCompletion:
		return endingRefuse, "was created anew by others while it was being deleted, and is marked as owned; remove the mark to keep it, or delete it"
	default:
		return endingDelete, ""
	}
}

// foreign reports whether a recorded object is neither deleted nor released, and what to say of that.
func (s situation) foreign(item *InventoryItem) (why string, foreign bool) {
	switch {
	case s.isOthers(item):
		return s.taker(), true
	case s.seen.Record != "":
		return recordsStay, true
	case s.seen.Owner == "" && !s.unlabelled(item):
		// A record is no proof: whoever may write it could have anything deleted.
		return notOurs, true
	default:
		return "", false
	}
}

// leaving says about an object that is being deleted what it waits for, if that is known.
func (s situation) leaving() string {
	const plain = "being deleted"
	if s.seen.Message == "" || s.seen.Message == plain {
		return plain
	}
	return plain + ": " + s.seen.Message
}

// isOthers reports whether the object that was seen is not the recorded one, or not ours any more.
func (s situation) isOthers(item *InventoryItem) bool {
	if s.seen.Owner != "" {
		// Another owner has taken it over; so it stays.
		return s.seen.Owner != s.owner
	}
	// Somebody created another object of that name, or took the marks off one of which we have no better proof.
	return s.seen.UID != item.UID
}

// taker says why an object stays that carries the label of another owner; empty if it carries none.
func (s situation) taker() string {
	switch {
	case s.seen.Owner == "":
		return ""
	case s.whose == "" || digest.OwnerLabel(s.whose) != s.seen.Owner:
		return "belongs to another owner by now, and is left alone"
	default:
		return "belongs to " + s.whose + " by now, and is left alone"
	}
}

// wasReleased reports whether nothing is left to be removed from an object that is to be released: a process has done that, and died before it could
// record it. The object may belong to others by now.
func (s situation) wasReleased(item *InventoryItem) bool {
	// A finalizer may have stayed on what defines types.
	return s.proven && s.seen.Owner == "" && s.whose == "" && !definesTypes(item.GroupVersionKind().GroupKind())
}

// deleteOne does what is to be done about one unwanted object. It is finished, and the outcome ready, when the server says
// that the object does not exist.
func (p *pass) deleteOne(ctx context.Context, item *InventoryItem, d deletion) (outcome, error) {
	var fight contention
	p.reach(item)
	s, err := p.lookServed(ctx, item)
	for attempt := 0; err == nil && attempt < maxAttempts; attempt++ {
		if item.unwanted() && s.exists {
			if s, err = p.asExpected(ctx, item, s); err != nil {
				break
			}
			s.wantedAs = p.aliases.of(s.seen.UID)
		}
		action, message := p.ending(item, s, d)
		var o outcome
		if o, err = p.end(ctx, item, s, d, action, message); err == nil {
			p.unheard(o)
			return o, nil
		}
		if isOutdated(err) || isTypeless(err) {
			answer, before := err, s
			s, err = p.askServed(ctx, item)
			fight.met(answer, before, s)
		}
	}
	if err == nil {
		p.requeueAfter(p.retry(item))
		return outcome{item: item, message: fight.message()}, nil
	}
	if reason, ok := awaitable(err); ok {
		p.requeueAfter(p.retry(item))
		return outcome{item: item, message: reason}, nil
	}
	return outcome{}, fmt.Errorf("deleting %s: %w", keyOf(item), err)
}

func (p *pass) end(ctx context.Context, item *InventoryItem, s situation, d deletion, action ending, message string) (outcome, error) {
	if action == endingOrphan || action == endingRefuse {
		if err := p.lift(ctx, item); err != nil {
			return outcome{}, err
		}
	}
	switch action {
	case endingGone:
		p.reportGone(item, d, message)
		return p.leave(ctx, item, s)
	case endingForget:
		return p.ended(ctx, item)
	case endingOrphan:
		if err := p.orphan(ctx, item, s); err != nil {
			return outcome{}, err
		}
		p.acted(VerbOrphaned, d.wave, item)
		if reason := p.owner.staying(item); reason != "" {
			p.note(&p.result.Notes, item, reason)
		}
		return outcome{item: item, ready: true}, nil
	case endingRefuse:
		return outcome{}, refused(fmt.Sprintf("%s: %s", keyOf(item), message))
	case endingAwait:
		p.deleting(item, d)
		if definesTypes(item.GroupVersionKind().GroupKind()) {
			if err := p.releaseFinalizer(ctx, item); err != nil {
				return outcome{}, err
			}
			return p.whetherGone(ctx, item, d)
		}
		return outcome{item: item, message: message}, nil
	case endingDelete:
		return p.endByDeletion(ctx, item, s, d)
	default:
		return outcome{}, fmt.Errorf("unknown ending %d", action)
	}
}

// endByDeletion requests the deletion of the object that was seen, unless something holds it.
func (p *pass) endByDeletion(ctx context.Context, item *InventoryItem, s situation, d deletion) (outcome, error) {
	gone, held, err := p.requestEnd(ctx, item, s)
	if err != nil {
		return outcome{}, err
	}
	if held != nil {
		return p.held(ctx, item, s, d, *held)
	}
	p.deleting(item, d)
	if gone {
		p.acted(d.verb, d.wave, item)
		return p.ended(ctx, item)
	}
	return p.whetherGone(ctx, item, d)
}

// ended settles a dependent that is gone.
func (p *pass) ended(ctx context.Context, item *InventoryItem) (outcome, error) {
	if err := p.lift(ctx, item); err != nil && !apierrors.IsForbidden(err) {
		return outcome{}, err
	}
	// What must not be removed goes by garbage collection.
	item.Barrier = ""
	return outcome{item: item, ready: true}, nil
}

// leave forgets an object that does not exist, or is not ours any more. One that defines types must not wait for us when those whose it is
// by now delete it.
func (p *pass) leave(ctx context.Context, item *InventoryItem, s situation) (outcome, error) {
	if s.exists && definesTypes(item.GroupVersionKind().GroupKind()) {
		if err := p.releaseFinalizer(ctx, item); err != nil && !apierrors.IsForbidden(err) {
			return outcome{}, err
		}
	}
	return p.ended(ctx, item)
}

// reportGone says that an object is gone, or why it stays although its record goes.
func (p *pass) reportGone(item *InventoryItem, d deletion, message string) {
	switch {
	case message != "":
		p.note(&p.result.Notes, item, message)
	case item.Phase == PhaseDeleting || item.Phase == PhaseCompleting:
		p.acted(d.verb, d.wave, item)
	}
}

func (p *pass) deleting(item *InventoryItem, d deletion) {
	item.Status = status.TerminatingStatus
	item.Phase = PhaseDeleting
	if d.verb == VerbCompleted {
		item.Phase = PhaseCompleting
	}
}

// whetherGone asks the server whether the deletion has ended already, as it does for objects without finalizers.
func (p *pass) whetherGone(ctx context.Context, item *InventoryItem, d deletion) (outcome, error) {
	s, err := p.askServed(ctx, item)
	if err != nil {
		return outcome{}, err
	}
	action, message := p.ending(item, s, d)
	switch action {
	case endingGone, endingForget:
		p.acted(d.verb, d.wave, item)
		return p.ended(ctx, item)
	case endingRefuse:
		return outcome{}, refused(fmt.Sprintf("%s: %s", keyOf(item), message))
	case endingAwait, endingDelete, endingOrphan:
		p.cache.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.seen)
		return outcome{item: item, message: orDefault(message, "being deleted")}, nil
	default:
		return outcome{}, fmt.Errorf("unknown ending %d", action)
	}
}
