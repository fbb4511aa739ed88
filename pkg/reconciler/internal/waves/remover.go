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
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/calls"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/policies"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Remover deletes or orphans dependents, wave by wave.
type Remover struct {
	call *calls.Call
	why  string // dependents go
}

// Delete deletes or orphans dependents, and reports whether all of them are gone. It saves first which of them are going to be
// orphaned, and the deletion of which is approved.
func (r *Remover) Delete(ctx context.Context, items []*inventory.Item) (gone bool, err error) {
	if r.call.Ledger.DecisionsUnsaved {
		if err := r.call.Ledger.Save(ctx); err != nil {
			return false, err
		}
	}
	rank := r.call.SortDeletion(items)
	for _, wave := range desired.Group(items, func(item *inventory.Item) int { return item.DeleteOrder }) {
		for _, members := range desired.Group(wave, rank) {
			if gone, err := r.deleteStage(ctx, desired.Group(members, calls.DeletionTier), len(wave)); err != nil || !gone {
				return false, err
			}
		}
		if err := r.call.Ledger.Checkpoint(ctx); err != nil {
			return false, err
		}
	}
	return true, nil
}

// deleteStage deletes tier by tier, and reports whether all objects are gone. If the deletion of an object fails or takes time,
// it still deletes the others of the stage.
func (r *Remover) deleteStage(ctx context.Context, tiers [][]*inventory.Item, waveSize int) (gone bool, err error) {
	gone = true
	var failures []error
	for _, tier := range tiers {
		remaining, err := r.deleteTier(ctx, tier)
		if err != nil {
			failures = append(failures, fmt.Errorf("deleting %s: %w", types.WaveText(tier[0].DeleteOrder), err))
			if !answers.IsAboutObjects(err) || kinds.DefinesTypes(tier[0].GroupVersionKind().GroupKind()) {
				break
			}
		}
		// Later tiers may serve the types. They are needed while there are, or may be, instances.
		needed := false
		for _, o := range remaining {
			gone = false
			needed = needed || o.keepsBarrier || o.instances != ""
			r.call.Report.Awaits(o.item, o.message)
		}
		if needed {
			break
		}
	}
	if !gone || len(failures) > 0 {
		r.call.Report.StopsAt(tiers[0][0].DeleteOrder, waveSize)
	}
	return gone && len(failures) == 0, answers.Join(failures...)
}

func (r *Remover) deleteTier(ctx context.Context, tier []*inventory.Item) ([]outcome, error) {
	var t outcomes
	work := func(item *inventory.Item) (outcome, error) {
		return r.deleteOne(ctx, item, decisions.Deletion{Orphan: item.DeletePolicy == inventory.DeletePolicyOrphan, Verb: inventory.VerbDeleted, Wave: item.DeleteOrder, Why: r.why})
	}
	flow.Each(ctx, r.call.Server.Flow, tier, func(item *inventory.Item) {
		o, err := work(item)
		t.finished(r.call, item, o, err)
	})
	putUpBarriers(ctx, r.call, &t, work)
	for _, item := range t.ready {
		r.call.Losses.Leave(item)
		r.call.Ledger.Drop(item)
	}
	return t.unready, t.Err()
}

// deleteOne observes a dependent that should be gone, decides, and makes a request. The outcome is ready when the server says
// that the object does not exist.
func (r *Remover) deleteOne(ctx context.Context, item *inventory.Item, d decisions.Deletion) (outcome, error) {
	var fight decisions.Contention
	r.call.Barriers.Reach(item)
	s, err := r.look(ctx, item)
	if item.Phase == inventory.PhaseKept && apierrors.IsForbidden(err) {
		// Nothing has to be done about it.
		return outcome{item: item, ready: true, stays: true}, nil
	}
	for attempt := 0; err == nil && attempt < server.MaxAttempts; attempt++ {
		if bookkeeping.IsRedundant(item) && s.Exists {
			if s, err = r.call.Pacing.Expected.AsExpected(ctx, item, s); err != nil {
				break
			}
			s.WantedAs = r.call.Aliases.Of(s.Seen.UID)
		}
		d.Prune = r.call.Prune(item, s.Seen)
		action, message := r.call.Owner.Ending(item, s, d)
		var o outcome
		if o, err = r.end(ctx, item, s, d, action, message); err == nil {
			if !o.ready {
				r.call.LookAgain(item)
			}
			return o, nil
		}
		if answers.IsOutdated(err) || answers.IsTypeless(err) {
			answer, before := err, s
			s, err = r.call.Server.AskServed(ctx, item)
			fight.Met(answer, before, s)
		}
	}
	if err == nil {
		r.call.Retry(item)
		return outcome{item: item, message: fight.Message()}, nil
	}
	if reason, ok := answers.Awaitable(err); ok {
		r.call.Retry(item)
		return outcome{item: item, message: reason}, nil
	}
	return outcome{}, fmt.Errorf("deleting %s: %w", types.IDOf(item), err)
}

// look observes a dependent that should be gone. It asks the server whether others are deleting it: the cache may be older than a process that has created
// the object again, and died. After the deletion has begun, such an object would count as one that others have created.
func (r *Remover) look(ctx context.Context, item *inventory.Item) (decisions.Situation, error) {
	s, err := r.call.Server.LookServed(ctx, item)
	begins := item.Phase == inventory.PhaseScheduledForDeletion || item.Phase == inventory.PhaseScheduledForCompletion
	if err != nil || !begins || !s.Seen.Deleting || s.Proven {
		return s, err
	}
	return r.call.Server.AskServed(ctx, item)
}

func (r *Remover) end(ctx context.Context, item *inventory.Item, s decisions.Situation, d decisions.Deletion, action decisions.Ending, message string) (outcome, error) {
	if action == decisions.Orphan || action == decisions.RefuseEnd || action == decisions.Stay {
		if err := r.call.Barriers.Lift(ctx, item); err != nil {
			return outcome{}, err
		}
	}
	switch action {
	case decisions.Gone:
		r.reportGone(item, d, message)
		return r.leave(ctx, item, s)
	case decisions.Forget:
		return r.ended(ctx, item)
	case decisions.Orphan:
		return r.orphan(ctx, item, s, d)
	case decisions.RefuseEnd:
		return outcome{}, inventory.NewRefusedError(fmt.Sprintf("%s: %s", types.IDOf(item), message))
	case decisions.Stay:
		return r.stay(ctx, item, s)
	case decisions.AwaitApproval:
		return outcome{item: item, message: message}, nil
	case decisions.AwaitEnd:
		return r.await(ctx, item, s, d, message)
	case decisions.RequestDeletion:
		return r.endByDeletion(ctx, item, s, d)
	default:
		return outcome{}, fmt.Errorf("unknown ending %d", action)
	}
}

// await returns the outcome for an object that is being deleted. It removes our finalizer.
func (r *Remover) await(ctx context.Context, item *inventory.Item, s decisions.Situation, d decisions.Deletion, message string) (outcome, error) {
	r.deleting(item, d)
	if !r.call.Executor.Holds(s) {
		return outcome{item: item, message: message}, retryDeletion(ctx, r.call, item, s)
	}
	if err := r.call.Executor.RemoveFinalizer(ctx, item); err != nil {
		return outcome{}, err
	}
	return r.checkGone(ctx, item, d)
}

// orphan returns the outcome for an object that is orphaned.
func (r *Remover) orphan(ctx context.Context, item *inventory.Item, s decisions.Situation, d decisions.Deletion) (outcome, error) {
	if err := r.call.Executor.Orphan(ctx, item, s); err != nil {
		return outcome{}, err
	}
	r.call.Report.Acted(inventory.VerbOrphaned, d.Wave, item, d.Why)
	if reason := r.call.Owner.WhyOrphaned(item); reason != "" {
		r.call.Report.Notes(item, reason)
	}
	return outcome{item: item, ready: true}, nil
}

// endByDeletion requests the deletion of the observed object, unless something blocks it.
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
		r.call.Report.Acted(d.Verb, d.Wave, item, d.Why)
		return r.ended(ctx, item)
	}
	return r.checkGone(ctx, item, d)
}

// stay returns the outcome for a redundant object that is kept. If only its annotation says so, its record may no longer say what happens to it with its
// owner, because that was decided for its deletion.
func (r *Remover) stay(ctx context.Context, item *inventory.Item, s decisions.Situation) (outcome, error) {
	if item.Phase != inventory.PhaseKept {
		live, err := r.call.Server.Get(ctx, item)
		if err != nil && !apierrors.IsForbidden(err) {
			return outcome{}, err
		}
		if err == nil {
			// An annotation that has become invalid counts as missing.
			declared, _ := policies.Parse(r.call.Server.Keys.Prefix, live, r.call.Policies)
			item.DeletePolicy = r.call.Owner.DeletePolicy(item, declared.Delete)
		}
		bookkeeping.Keep(item)
		r.call.Losses.Stay(item)
	}
	item.Status = s.Seen.Status
	return outcome{item: item, ready: true, stays: true}, nil
}

// ended returns the outcome for a dependent that is gone.
func (r *Remover) ended(ctx context.Context, item *inventory.Item) (outcome, error) {
	if err := r.call.Barriers.Lift(ctx, item); err != nil && !apierrors.IsForbidden(err) {
		return outcome{}, err
	}
	// Garbage collection deletes a barrier that we may not delete.
	item.Barrier = ""
	return outcome{item: item, ready: true}, nil
}

// leave drops the item of an object that does not exist, or is not ours any more. It removes our finalizer, so that its new owner
// can delete it.
func (r *Remover) leave(ctx context.Context, item *inventory.Item, s decisions.Situation) (outcome, error) {
	if r.call.Executor.Holds(s) {
		if err := r.call.Executor.RemoveFinalizer(ctx, item); err != nil && !apierrors.IsForbidden(err) {
			return outcome{}, err
		}
	}
	return r.ended(ctx, item)
}

// reportGone reports that an object is gone, or why it stays although its item is dropped.
func (r *Remover) reportGone(item *inventory.Item, d decisions.Deletion, message string) {
	switch {
	case message != "":
		r.call.Report.Notes(item, message)
	case item.Phase == inventory.PhaseDeleting || item.Phase == inventory.PhaseCompleting:
		r.call.Report.Acted(d.Verb, d.Wave, item, d.Why)
	}
}

func (r *Remover) deleting(item *inventory.Item, d decisions.Deletion) {
	item.Status = status.TerminatingStatus
	item.Phase = inventory.PhaseDeleting
	if d.Verb == inventory.VerbCompleted {
		item.Phase = inventory.PhaseCompleting
	}
}

// checkGone reads the object, because the deletion of an object without finalizers has ended already.
func (r *Remover) checkGone(ctx context.Context, item *inventory.Item, d decisions.Deletion) (outcome, error) {
	s, err := r.call.Server.AskServed(ctx, item)
	if err != nil {
		return outcome{}, err
	}
	action, message := r.call.Owner.Ending(item, s, d)
	switch action {
	case decisions.Gone, decisions.Forget:
		r.call.Report.Acted(d.Verb, d.Wave, item, d.Why)
		return r.ended(ctx, item)
	case decisions.RefuseEnd:
		return outcome{}, inventory.NewRefusedError(fmt.Sprintf("%s: %s", types.IDOf(item), message))
	case decisions.AwaitEnd, decisions.RequestDeletion, decisions.Orphan, decisions.Stay, decisions.AwaitApproval:
		r.call.Server.Observer.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.Seen)
		return outcome{item: item, message: cmp.Or(message, "being deleted")}, retryDeletion(ctx, r.call, item, s)
	default:
		return outcome{}, fmt.Errorf("unknown ending %d", action)
	}
}

// NewRemover returns a Remover of the dependents of a call, with the reason why dependents go.
func NewRemover(call *calls.Call, why string) *Remover { return &Remover{call: call, why: why} }
