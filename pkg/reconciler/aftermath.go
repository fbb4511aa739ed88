// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/reconciler/internal/run"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// A selection splits the objects of a request into those that a call applies, and the others, both in the same order.
type selection func(objects []*prepare.Object) (wanted, apart []*prepare.Object)

// regular selects all objects that are not on-failure hooks.
func regular(objects []*prepare.Object) (wanted, apart []*prepare.Object) {
	if !slices.ContainsFunc(objects, isOnFailure) {
		return objects, nil
	}
	for _, t := range objects {
		if isOnFailure(t) {
			apart = append(apart, t)
		} else {
			wanted = append(wanted, t)
		}
	}
	return wanted, apart
}

func isOnFailure(t *prepare.Object) bool { return t.Hook == types.ApplyHookOnFailure }

// hasFailed reports whether something in a call has failed so that on-failure hooks run.
func hasFailed(result Result, err error) bool {
	return len(result.Failures) > 0 || execute.IsFailure(err)
}

// hasAftermath reports whether on-failure hooks have to be applied or awaited after a call.
func (c *preparation) hasAftermath(failed bool) bool {
	return slices.ContainsFunc(c.apart, func(t *prepare.Object) bool { return failed || isUnfinished(c.call, t, c.call.Ledger.Of(t)) })
}

// aftermath selects the on-failure hooks that have to be applied or awaited. Those that have begun come to their end as
// they were applied, also if nothing has failed any more, or the owner has changed since.
func (c *preparation) aftermath(failed bool) selection {
	return func(objects []*prepare.Object) (wanted, apart []*prepare.Object) {
		for _, t := range objects {
			item := c.call.Ledger.Of(t)
			isSame := item.Digest == t.Digest || slices.Contains(t.Former, item.Digest)
			unfinished := isOnFailure(t) && isUnfinished(c.call, t, item)
			switch {
			case isOnFailure(t) && failed && (isSame || !unfinished):
				wanted = append(wanted, t)
			case unfinished:
				ending := *t
				ending.Digest, ending.Former, ending.Ending = item.Digest, nil, true
				wanted = append(wanted, &ending)
			default:
				apart = append(apart, t)
			}
		}
		return wanted, apart
	}
}

// isUnfinished reports whether a hook has begun, and something is left to be done about it. The process that has
// created it may have ended before it could record that; then our finalizer shows it.
func isUnfinished(call *run.Call, t *prepare.Object, item *InventoryItem) bool {
	seen, view := call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	isHeld := view == observe.Present && call.Executor.Holds(decide.Situation{Exists: true, Seen: seen})
	switch {
	case item.Phase == "" || item.Phase == inventory.PhaseCompleted || decide.IsDismissed(item):
		return false
	case decide.IsCompleting(item) || item.Phase == inventory.PhaseFailed:
		return true
	case item.Phase == inventory.PhaseReady:
		return isHeld || t.PurgeOrder != nil
	case decide.IsWritten(item):
		return isHeld || t.PurgeOnFailure || item.Status != status.FailedStatus
	default:
		return isHeld
	}
}

// follow applies on-failure hooks after a call, if there are any to be applied or awaited, and adds to its result how
// far they are. It returns an error only if nothing more must be written, or nothing can be recorded: what is wrong
// with hooks must not hide why they run.
func (r *Reconciler) follow(ctx context.Context, request ApplyRequest, choose selection, result *Result) error {
	request.Inventory, request.Expected, request.CarryOn, request.AfterWave = result.Inventory, nil, false, nil
	c, err := r.begin(request, r.server(), choose)
	if err != nil || len(c.wanted) == 0 {
		return err
	}
	// Redundant objects are none of this call's business.
	c.call.Policies.PruneAt = inventory.PruneAtEnd
	if err = c.open(ctx, request); err == nil {
		_, err = c.waves.Apply(ctx, c.wanted)
	}
	if c.waves.Misplaced {
		c.call.Memory.Retain(nil)
	}
	summary := c.call.Report.End()
	result.Inventory = c.call.Ledger.Remaining()
	c.call.Memory.Keep(result.Inventory)
	result.Aftermath = Aftermath{Waits: summary.Waits, Failures: summary.Failures}
	result.Notes, result.Drift = append(result.Notes, summary.Notes...), append(result.Drift, summary.Drift...)
	result.Actions, result.Errors = append(result.Actions, summary.Actions...), append(result.Errors, summary.Errors...)
	after := summary.RequeueAfter
	if err != nil && execute.IsAboutObjects(err) {
		_, refused := errors.AsType[*RefusedError](err)
		result.Aftermath.Lasting = refused || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apiserver.IsRejected(err)
		if !refused {
			after = cmp.Or(after, problemDelay)
		}
		result.Aftermath.Problem, err = err.Error(), nil
	}
	if after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	if err != nil {
		return fmt.Errorf("applying on-failure hooks: %w", err)
	}
	return nil
}

// problemDelay is how long to wait before hooks are applied again that could not be applied, and not because of their
// manifests.
const problemDelay = 30 * time.Second
