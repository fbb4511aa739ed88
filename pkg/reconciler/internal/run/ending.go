// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// lookForEnd observes a dependent that should be gone. If the cache shows that others are deleting it before our
// deletion has begun, it asks the server: the cache may be older than a process that recreated the object and died.
// After our deletion has begun, such an object would count as recreated by others.
func (l *live) lookForEnd(ctx context.Context, item *inventory.Item) (decide.Situation, error) {
	s, err := l.call.Server.LookServed(ctx, item)
	begins := item.Phase == inventory.PhaseScheduledForDeletion || item.Phase == inventory.PhaseScheduledForCompletion
	if err != nil || !begins || !s.Seen.Deleting || s.Proven {
		return s, err
	}
	return l.call.Server.AskServed(ctx, item)
}

// end executes a decision about an object that should be gone.
func (l *live) end(ctx context.Context, item *inventory.Item, s decide.Situation, d decide.Deletion, action decide.Ending, message string) (outcome, error) {
	if action == decide.Orphan || action == decide.RefuseEnd || action == decide.Stay {
		if err := l.call.Barriers.Lift(ctx, item); err != nil {
			return outcome{}, err
		}
	}
	switch action {
	case decide.Gone:
		l.reportGone(item, d, message)
		return l.leave(ctx, item, s)
	case decide.Forget:
		return l.ended(ctx, item)
	case decide.Orphan:
		return l.orphan(ctx, item, s, d)
	case decide.RefuseEnd:
		return outcome{}, inventory.NewRefusedError(fmt.Sprintf("%s: %s", types.IDOf(item), message))
	case decide.Stay:
		return l.stay(ctx, item, s)
	case decide.AwaitApproval:
		return outcome{item: item, message: message}, nil
	case decide.AwaitEnd:
		return l.await(ctx, item, s, d, message)
	case decide.RequestDeletion:
		return l.endByDeletion(ctx, item, s, d)
	default:
		return outcome{}, fmt.Errorf("unknown ending %d", action)
	}
}

// await returns the outcome for an object that is being deleted. It removes our finalizer.
func (l *live) await(ctx context.Context, item *inventory.Item, s decide.Situation, d decide.Deletion, message string) (outcome, error) {
	l.deleting(item, d)
	if !l.call.Executor.Holds(s) {
		return outcome{item: item, message: message}, retryDeletion(ctx, l.call, item, s)
	}
	if err := l.call.Executor.RemoveFinalizer(ctx, item); err != nil {
		return outcome{}, err
	}
	return l.checkGone(ctx, item, d)
}

// orphan returns the outcome for an object that is orphaned.
func (l *live) orphan(ctx context.Context, item *inventory.Item, s decide.Situation, d decide.Deletion) (outcome, error) {
	if err := l.call.Executor.Orphan(ctx, item, s); err != nil {
		return outcome{}, err
	}
	l.call.Report.Acted(inventory.VerbOrphaned, d.Wave, item, d.Why)
	if reason := l.call.Owner.WhyOrphaned(item); reason != "" {
		l.call.Report.Notes(item, reason)
	}
	return outcome{item: item, ready: true}, nil
}

// endByDeletion requests the deletion of the observed object, unless something blocks it.
func (l *live) endByDeletion(ctx context.Context, item *inventory.Item, s decide.Situation, d decide.Deletion) (outcome, error) {
	gone, held, err := l.requestEnd(ctx, item, s)
	if err != nil {
		return outcome{}, err
	}
	if held != nil {
		return l.held(ctx, item, s, d, *held)
	}
	l.deleting(item, d)
	if gone {
		l.call.Report.Acted(d.Verb, d.Wave, item, d.Why)
		return l.ended(ctx, item)
	}
	return l.checkGone(ctx, item, d)
}

// stay returns the outcome for a redundant object that is kept. When the object is first kept, its delete policy is
// read from its annotations, because the recorded one may have been replaced for its deletion.
func (l *live) stay(ctx context.Context, item *inventory.Item, s decide.Situation) (outcome, error) {
	if item.Phase != inventory.PhaseKept {
		live, err := l.call.Server.Get(ctx, item)
		if err != nil && !apierrors.IsForbidden(err) {
			return outcome{}, err
		}
		if err == nil {
			// An annotation that has become invalid counts as missing.
			declared, _ := prepare.Parse(l.call.Server.Keys.Prefix, live, l.call.Policies)
			item.DeletePolicy = l.call.Owner.DeletePolicy(item, declared.Delete)
		}
		decide.RecordKept(item)
		l.call.Losses.Stay(item)
	}
	item.Status = s.Seen.Status
	return outcome{item: item, ready: true, stays: true}, nil
}

// ended returns the outcome for a dependent that is gone.
func (l *live) ended(ctx context.Context, item *inventory.Item) (outcome, error) {
	if err := l.call.Barriers.Lift(ctx, item); err != nil && !apierrors.IsForbidden(err) {
		return outcome{}, err
	}
	// Garbage collection deletes a barrier that we may not delete.
	item.Barrier = ""
	return outcome{item: item, ready: true}, nil
}

// leave returns the outcome for an object that does not exist, or is no longer ours. It removes our finalizer, so that
// its new owner can delete it.
func (l *live) leave(ctx context.Context, item *inventory.Item, s decide.Situation) (outcome, error) {
	if l.call.Executor.Holds(s) {
		if err := l.call.Executor.RemoveFinalizer(ctx, item); err != nil && !apierrors.IsForbidden(err) {
			return outcome{}, err
		}
	}
	return l.ended(ctx, item)
}

// reportGone reports that an object is gone, or why it stays although its item is dropped.
func (l *live) reportGone(item *inventory.Item, d decide.Deletion, message string) {
	switch {
	case message != "":
		l.call.Report.Notes(item, message)
	case item.Phase == inventory.PhaseDeleting || item.Phase == inventory.PhaseCompleting:
		l.call.Report.Acted(d.Verb, d.Wave, item, d.Why)
	}
}

func (l *live) deleting(item *inventory.Item, d decide.Deletion) {
	item.Status = status.TerminatingStatus
	item.Phase = inventory.PhaseDeleting
	if d.Verb == inventory.VerbCompleted {
		item.Phase = inventory.PhaseCompleting
	}
}

// checkGone reads the object after a deletion request, because an object without finalizers is already gone.
func (l *live) checkGone(ctx context.Context, item *inventory.Item, d decide.Deletion) (outcome, error) {
	s, err := l.call.Server.AskServed(ctx, item)
	if err != nil {
		return outcome{}, err
	}
	action, message := l.call.Owner.Ending(item, s, d)
	switch action {
	case decide.Gone, decide.Forget:
		l.call.Report.Acted(d.Verb, d.Wave, item, d.Why)
		return l.ended(ctx, item)
	case decide.RefuseEnd:
		return outcome{}, inventory.NewRefusedError(fmt.Sprintf("%s: %s", types.IDOf(item), message))
	case decide.AwaitEnd, decide.RequestDeletion, decide.Orphan, decide.Stay, decide.AwaitApproval:
	}
	l.call.Server.Observer.Record(item.GroupVersionKind(), item.Namespace, item.Name, s.Seen)
	return outcome{item: item, message: cmp.Or(message, "being deleted")}, retryDeletion(ctx, l.call, item, s)
}

// unended turns an error that is expected to go away into an outcome that the call waits for.
func (l *live) unended(item *inventory.Item, _ decide.Deletion, message string, err error) (outcome, error) {
	if item.Phase == inventory.PhaseKept && apierrors.IsForbidden(err) {
		// Nothing has to be done about it.
		return outcome{item: item, ready: true, stays: true}, nil
	}
	if err != nil {
		reason, ok := execute.Awaitable(err)
		if !ok {
			return outcome{}, fmt.Errorf("deleting %s: %w", types.IDOf(item), err)
		}
		message = reason
	}
	l.call.Retry(item)
	return outcome{item: item, message: message}, nil
}

func (l *live) hold(_ context.Context, concerned []*Candidate, held *inventory.HeldDeletions) (awaited bool, err error) {
	l.call.Report.Holds(held)
	l.call.Report.StopsAt(concerned[0].Item.DeleteOrder, len(concerned))
	return true, nil
}

// requestEnd requests the deletion of the observed object, and reports whether the response proves that it is gone. An
// object that defines types is deleted only if it has no instances, and a barrier denies new ones, because they would
// be deleted with it, regardless of their finalizers. A namespace is deleted only if it contains nothing but
// dependents. If the deletion was not requested, held is an outcome with the reason.
func (l *live) requestEnd(ctx context.Context, item *inventory.Item, s decide.Situation) (gone bool, held *outcome, err error) {
	if prepare.IsNamespace(item.GroupVersionKind().GroupKind()) {
		if message, err := l.call.Losses.HoldNamespace(ctx, item); err != nil || message != "" {
			l.call.Retry(item)
			return false, &outcome{item: item, message: message}, err
		}
	}
	if !prepare.DefinesTypes(item.GroupVersionKind().GroupKind()) {
		gone, err = l.releaseAndDelete(ctx, item, s)
		return gone, nil, err
	}
	if awaited, err := l.call.Barriers.Await(ctx, item, l.call.Barriers.For(item, s.Seen.UID)); err != nil || awaited {
		return false, &outcome{item: item, message: guard.Awaited, keepsBarrier: true}, err
	}
	defined, err := l.call.Losses.DefinedBy(ctx, item)
	if err != nil {
		return false, nil, err
	}
	blockers, err := l.call.Losses.Instances(ctx, defined, "")
	if err != nil {
		return false, nil, err
	}
	if len(blockers) > 0 {
		// The deletion of an instance causes no event.
		l.call.Retry(item)
		texts := guard.Texts(blockers)
		held = &outcome{item: item, instances: texts, message: "kept while there are instances of its types: " + texts}
		return false, held, l.call.Barriers.Lift(ctx, item)
	}
	if b := l.call.Barriers.For(item, s.Seen.UID); b != nil && item.Barrier == "" {
		return false, &outcome{item: item, message: guard.Awaited, keepsBarrier: true, barrier: b}, nil
	}
	if gone, err = l.call.Executor.RequestDeletion(ctx, item, s); err != nil || gone {
		return gone, nil, err
	}
	return false, nil, l.call.Executor.RemoveFinalizer(ctx, item)
}

// releaseAndDelete requests the deletion of an object that must not wait for us any more.
func (l *live) releaseAndDelete(ctx context.Context, item *inventory.Item, s decide.Situation) (gone bool, err error) {
	if s, err = l.call.Executor.Release(ctx, item, s); err != nil && !execute.IsGone(err) {
		return false, err
	}
	return l.call.Executor.RequestDeletion(ctx, item, s)
}

// held returns the outcome for an object that must not be deleted yet. It orphans a namespace that the user has marked
// for that in the cluster.
func (l *live) held(ctx context.Context, item *inventory.Item, s decide.Situation, d decide.Deletion, o outcome) (outcome, error) {
	if !prepare.IsNamespace(item.GroupVersionKind().GroupKind()) {
		return o, nil
	}
	if orphaned, err := l.call.Losses.IsMarkedOrphan(ctx, item); err != nil || !orphaned {
		return o, err
	}
	return l.end(ctx, item, s, d, decide.Orphan, "")
}

// A Job or Pod with a decisive outcome has our finalizer until its outcome is recorded. So the outcome is known even if
// others or Kubernetes delete the object before a call has observed it.

// mayRelease reports whether our finalizer may be removed as soon as the known outcome of the object is recorded.
// Objects that we delete ourselves are released at their deletion.
func (l *live) mayRelease(t *prepare.Object, s decide.Situation) bool {
	if !t.Decisive || t.PurgeOrder != nil || !l.call.Executor.Holds(s) {
		return false
	}
	return s.Seen.Status == status.CurrentStatus || s.Seen.Status == status.FailedStatus && !t.PurgeOnFailure
}

// endedBefore records the outcome that an object had before others deleted it, and reports whether there is one.
func (l *live) endedBefore(ctx context.Context, t *prepare.Object, s decide.Situation) (bool, error) {
	item, result := l.call.Ledger.Of(t), s.Seen.Outcome
	if !t.Decisive || result == "" {
		return false, nil
	}
	if ours, err := wasApplied(ctx, l.call, t, s); err != nil || !ours {
		return false, err
	}
	return noteOutcome(t, item, result), nil
}

// wasApplied reports whether the manifest was applied to the observed object. The process that has created the object
// may have ended before it could record that.
func wasApplied(ctx context.Context, call *Call, t *prepare.Object, s decide.Situation) (bool, error) {
	item := call.Ledger.Of(t)
	if decide.IsWritten(item) || item.Phase != inventory.PhaseScheduledForApplication || item.UID == s.Seen.UID {
		return decide.IsWritten(item), nil
	}
	live, err := call.Server.Get(ctx, item)
	if execute.IsGone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return live.GetUID() == s.Seen.UID && live.GetAnnotations()[call.Server.Keys.Digest] == t.Digest, nil
}

// noteOutcome records an outcome, and reports whether it decides anything.
func noteOutcome(t *prepare.Object, item *inventory.Item, result status.Status) bool {
	switch {
	case result == status.CurrentStatus && t.PurgeOrder != nil:
		// Not ScheduledForCompletion: its deletion was requested.
		item.Phase = inventory.PhaseCompleting
		return true
	case result == status.CurrentStatus:
		item.Phase = inventory.PhaseReady
		return true
	case result == status.FailedStatus && (t.PurgeOnFailure || t.FailsFinally):
		item.Phase, item.Status = inventory.PhaseFailed, status.FailedStatus
		return true
	default:
		return false
	}
}

// released makes the work on an object continue after its outcome is recorded: our finalizer is then removed from the
// object. An object that has changed in the meantime is left to a later call.
func (w *Waves) released(ctx context.Context, o outcome) outcome {
	if o.releasing == nil {
		return o
	}
	recorded := o
	recorded.saved = func() (outcome, error) {
		s, err := w.call.Executor.Release(ctx, o.item, *o.releasing)
		switch {
		case err == nil && s.Seen.Deleting:
			// It is probably gone by now.
			if o.item.Phase == inventory.PhaseFailed {
				decide.RecordFailed(o.item)
			}
			w.call.LookAgain(o.item)
		case err == nil:
			w.call.Server.Observer.Record(o.item.GroupVersionKind(), o.item.Namespace, o.item.Name, s.Seen)
			o.item.Baseline = s.Seen.Baseline()
		case execute.IsOutdated(err):
			w.call.Retry(o.item)
		case !execute.IsGone(err):
			return o, fmt.Errorf("removing the finalizer of %s: %w", types.IDOf(o.item), err)
		}
		return o, nil
	}
	return recorded
}
