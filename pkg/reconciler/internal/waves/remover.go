// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Remover deletes or releases dependents, wave by wave.
type Remover struct {
	*calls.Call
}

// Delete is the only loop that deletes or releases dependents. It reports whether all items are gone. What is to be released is recorded as such
// before.
func (r *Remover) Delete(ctx context.Context, items []*inventory.Item) (gone bool, err error) {
	if r.Ledger.Releases {
		if err := r.Ledger.Save(ctx); err != nil {
			return false, err
		}
	}
	rank := r.SortDeletion(items)
	for _, wave := range targets.Group(items, func(item *inventory.Item) int { return item.DeleteOrder }) {
		for _, members := range targets.Group(wave, rank) {
			if gone, err := r.deleteStage(ctx, targets.Group(members, calls.DeletionTier), len(wave)); err != nil || !gone {
				return false, err
			}
		}
		if err := r.Ledger.Checkpoint(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// deleteStage deletes tier by tier, and reports whether all are gone. The others of the stage are deleted even if one object cannot be, or takes
// its time.
func (r *Remover) deleteStage(ctx context.Context, tiers [][]*inventory.Item, waveSize int) (gone bool, err error) {
	gone = true
	var failures []error
	for _, tier := range tiers {
		remaining, err := r.deleteTier(ctx, tier)
		if err != nil {
			failures = append(failures, fmt.Errorf("deleting wave %d: %w", tier[0].DeleteOrder, err))
			if !answers.IsAboutObjects(err) || kinds.DefinesTypes(tier[0].GroupVersionKind().GroupKind()) {
				break
			}
		}
		// What serves types goes after them: as long as there are, or may turn out to be, instances, it is still needed.
		needed := false
		for _, o := range remaining {
			gone = false
			needed = needed || o.securing || o.instances != ""
			r.Report.Awaits(o.item, o.message)
		}
		if needed {
			break
		}
	}
	if !gone || len(failures) > 0 {
		r.Report.StopsAt(tiers[0][0].DeleteOrder, waveSize)
	}
	return gone && len(failures) == 0, answers.Join(failures...)
}

func (r *Remover) deleteTier(ctx context.Context, tier []*inventory.Item) ([]outcome, error) {
	var t tally
	work := func(item *inventory.Item) (outcome, error) {
		return r.deleteOne(ctx, item, decisions.Deletion{Orphan: item.DeletePolicy == inventory.DeletePolicyOrphan, Verb: inventory.VerbDeleted, Wave: item.DeleteOrder})
	}
	flow.Each(ctx, r.Server.Flow, tier, func(item *inventory.Item) { t.add(work(item)) })
	enclose(ctx, r.Call, &t, work)
	for _, item := range t.ready {
		r.Ledger.Drop(item)
	}
	return t.unready, t.Err()
}

// deleteOne does what is to be done about one unwanted object. It is finished, and the outcome ready, when the server says
// that the object does not exist.
func (r *Remover) deleteOne(ctx context.Context, item *inventory.Item, d decisions.Deletion) (outcome, error) {
	var fight decisions.Contention
	r.Barriers.Reach(item)
	s, err := r.Server.LookServed(ctx, item)
	for attempt := 0; err == nil && attempt < server.MaxAttempts; attempt++ {
		if records.IsUnwanted(item) && s.Exists {
			if s, err = r.Pacing.Expected.AsExpected(ctx, item, s); err != nil {
				break
			}
			s.WantedAs = r.Aliases.Of(s.Seen.UID)
		}
		action, message := r.Owner.Ending(item, s, d)
		var o outcome
		if o, err = r.end(ctx, item, s, d, action, message); err == nil {
			if !o.ready {
				r.LookAgain(item)
			}
			return o, nil
		}
		if answers.IsOutdated(err) || answers.IsTypeless(err) {
			answer, before := err, s
			s, err = r.Server.AskServed(ctx, item)
			fight.Met(answer, before, s)
		}
	}
	if err == nil {
		r.Retry(item)
		return outcome{item: item, message: fight.Message()}, nil
	}
	if reason, ok := answers.Awaitable(err); ok {
		r.Retry(item)
		return outcome{item: item, message: reason}, nil
	}
	return outcome{}, fmt.Errorf("deleting %s: %w", types.IDOf(item), err)
}

func (r *Remover) end(ctx context.Context, item *inventory.Item, s decisions.Situation, d decisions.Deletion, action decisions.Ending, message string) (outcome, error) {
	if action == decisions.Release || action == decisions.RefuseEnd {
		if err := r.Barriers.Lift(ctx, item); err != nil {
			return outcome{}, err
		}
	}
	switch action {
	case decisions.Gone:
		r.reportGone(item, d, message)
		return r.leave(ctx, item, s)
	case decisions.Forget:
		return r.ended(ctx, item)
	case decisions.Release:
		if err := r.Executor.Release(ctx, item, s); err != nil {
			return outcome{}, err
		}
		r.Report.Acted(inventory.VerbOrphaned, d.Wave, item)
		if reason := r.Owner.Staying(item); reason != "" {
			r.Report.Notes(item, reason)
		}
		return outcome{item: item, ready: true}, nil
	case decisions.RefuseEnd:
		return outcome{}, inventory.NewRefusedError(fmt.Sprintf("%s: %s", types.IDOf(item), message))
	case decisions.AwaitEnd:
		r.deleting(item, d)
		if kinds.DefinesTypes(item.GroupVersionKind().GroupKind()) {
			if err := r.Executor.ReleaseFinalizer(ctx, item); err != nil {
				return outcome{}, err
			}
			return r.whetherGone(ctx, item, d)
		}
		return outcome{item: item, message: message}, nil
	case decisions.RequestDeletion:
		return r.endByDeletion(ctx, item, s, d)
	default:
		return outcome{}, fmt.Errorf("unknown ending %d", action)
	}
}

// endByDeletion requests the deletion of the object that was seen, unless something holds it.
func (r *Remover) endByDeletion(ctx context.Context, item *inventory.Item, s decisions.Situation, d decisions.Deletion) (outcome, error) {
	gone, held, err := r.requestEnd(ctx, item, s)
	if err != nil {
		return outcome{}, err
	}
	if held != nil {
		return r.held(ctx, item, s, d, *held)
	}
	r.deleting(item, d)
	if gone {
		r.Report.Acted(d.Verb, d.Wave, item)
		return r.ended(ctx, item)
	}
	return r.whetherGone(ctx, item, d)
}

// ended settles a dependent that is gone.
func (r *Remover) ended(ctx context.Context, item *inventory.Item) (outcome, error) {
	if err := r.Barriers.Lift(ctx, item); err != nil && !apierrors.IsForbidden(err) {
		return outcome{}, err
	}
	// What must not be removed goes by garbage collection.
	item.Barrier = ""
	return outcome{item: item, ready: true}, nil
}

// leave forgets an object that does not exist, or is not ours any more. One that defines types must not wait for us when those whose it is
// by now delete it.
func (r *Remover) leave(ctx context.Context, item *inventory.Item, s decisions.Situation) (outcome, error) {
	if s.Exists && kinds.DefinesTypes(item.GroupVersionKind().GroupKind()) {
		if err := r.Executor.ReleaseFinalizer(ctx, item); err != nil && !apierrors.IsForbidden(err) {
			return outcome{}, err
		}
	}
	return r.ended(ctx, item)
}

// reportGone says that an object is gone, or why it stays although its record goes.
func (r *Remover) reportGone(item *inventory.Item, d decisions.Deletion, message string) {
	switch {
	case message != "":
		r.Report.Notes(item, message)
	case item.Phase == inventory.PhaseDeleting || item.Phase == inventory.PhaseCompleting:
		r.Report.Acted(d.Verb, d.Wave, item)
	}
}

func (r *Remover) deleting(item *inventory.Item, d decisions.Deletion) {
	item.Status = status.TerminatingStatus
	item.Phase = inventory.PhaseDeleting
	if d.Verb == inventory.VerbCompleted {
		item.Phase = inventory.PhaseCompleting
	}
}

// whetherGone asks the server whether the deletion has ended already, as it does for objects without finalizers.
func (r *Remover) whetherGone(ctx context.Context, item *inventory.Item, d decisions.Deletion) (outcome, error) {
	s, err := r.Server.AskServed(ctx, item)
	if err != nil {
		return outcome{}, err
	}
	action, message := r.Owner.Ending(item, s, d)
	switch action {
	case decisions.Gone, decisions.Forget:
		r.Report.Acted(d.Verb, d.Wave, item)
		return r.ended(ctx, item)
	case decisions.RefuseEnd:
		return outcome{}, inventory.NewRefusedError(fmt.Sprintf("%s: %s", types.IDOf(item), message))
	case decisions.AwaitEnd, decisions.RequestDeletion, decisions.Release:
		r.Server.Observer.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.Seen)
		return outcome{item: item, message: cmp.Or(message, "being deleted")}, nil
	default:
		return outcome{}, fmt.Errorf("unknown ending %d", action)
	}
}

// NewRemover returns what deletes the dependents of a call.
func NewRemover(call *calls.Call) *Remover { return &Remover{Call: call} }
