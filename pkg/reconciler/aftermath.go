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

	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// A selection splits the objects of a request into those that a call applies, and the others, both in the same order.
type selection func(objects []*desired.Object) (wanted, apart []*desired.Object)

// regular selects all objects that are no on-failure hooks.
func regular(objects []*desired.Object) (wanted, apart []*desired.Object) {
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

func isOnFailure(t *desired.Object) bool { return t.Hook == types.ApplyHookOnFailure }

// hasFailed reports whether something in a call has failed so that on-failure hooks run. Whatever may succeed without a change of the input does not count.
func hasFailed(result Result, err error) bool {
	var refused *RefusedError
	return len(result.Failures) > 0 || errors.As(err, &refused) || err != nil && (conflicts.IsDenied(err) || conflicts.IsAdmission(err))
}

// aftermath selects the on-failure hooks that have to be applied or awaited. Those that have begun go on if nothing has failed, as they were applied: also if the
// owner has changed since.
func aftermath(inventory []*InventoryItem, failed bool) selection {
	return func(objects []*desired.Object) (wanted, apart []*desired.Object) {
		recorded := bookkeeping.Index(inventory)
		for _, t := range objects {
			item := recorded[t.Key]
			switch {
			case isOnFailure(t) && failed:
				wanted = append(wanted, t)
			case isOnFailure(t) && isUnfinished(t, item):
				begun := *t
				begun.Digest, begun.Former = item.Digest, ""
				wanted = append(wanted, &begun)
			default:
				apart = append(apart, t)
			}
		}
		return wanted, apart
	}
}

// isUnfinished reports whether a hook has begun, and something is left to be done about it.
func isUnfinished(t *desired.Object, item *InventoryItem) bool {
	if item == nil || item.Digest == "" || bookkeeping.IsRedundant(item) {
		return false
	}
	ended := item.Phase == inventory.PhaseCompleted || bookkeeping.IsDismissed(item) || item.Phase == inventory.PhaseReady && t.PurgeOrder == nil ||
		item.Status == status.FailedStatus && item.Phase != inventory.PhaseFailed && !t.PurgeOnFailure
	return !ended
}

// follow applies on-failure hooks after a call, if there are any to be applied or awaited, and adds to its result how far they are. It returns an error only if
// nothing more must be written, or nothing can be recorded: what is wrong with hooks must not hide why they run.
func (r *Reconciler) follow(ctx context.Context, request ApplyRequest, result *Result, err error) error {
	if err != nil && !answers.IsAboutObjects(err) {
		return nil
	}
	request.Inventory, request.Expected, request.CarryOn = result.Inventory, nil, false
	c, err := r.begin(request, r.server(), aftermath(result.Inventory, hasFailed(*result, err)))
	if err != nil || len(c.wanted) == 0 {
		return err
	}
	// Redundant objects are none of this call's business.
	c.call.Policies.PruneAt = inventory.PruneAtEnd
	ctx = flow.WithLimiter(ctx, c.call.Server.Flow)
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
	result.Actions = append(result.Actions, summary.Actions...)
	after := summary.RequeueAfter
	if err != nil && answers.IsAboutObjects(err) {
		result.Aftermath.Problem, err = err.Error(), nil
		after = cmp.Or(after, problemDelay)
	}
	if after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	if err != nil {
		return fmt.Errorf("applying on-failure hooks: %w", err)
	}
	return nil
}

// problemDelay is how long to wait before hooks are applied again that could not be applied.
const problemDelay = 30 * time.Second
