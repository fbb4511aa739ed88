// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// A Job or Pod whose outcome decides something has our finalizer until its outcome is recorded, so that it is known
// even if others delete the object, or if Kubernetes does, before a call has seen how it ended.

// mayRelease reports whether an object keeps our finalizer only until its outcome, which is known, is recorded. What we
// delete ourselves is released then.
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

// released makes an outcome continue when it is recorded: our finalizer is removed from the object. An object that has
// changed meanwhile is left to a later call.
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
