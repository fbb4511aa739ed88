// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// isAftermath reports whether an object is an on-failure hook.
func isAftermath(t *desired.Object) bool { return t.Hook == types.ApplyHookOnFailure }

func isNoAftermath(t *desired.Object) bool { return !isAftermath(t) }

// split splits objects into those that belong to a call and those that do not, in the same order.
func split(objects []*desired.Object, belongs func(*desired.Object) bool) (wanted, apart []*desired.Object) {
	if !slices.ContainsFunc(objects, func(t *desired.Object) bool { return !belongs(t) }) {
		return objects, nil
	}
	for _, t := range objects {
		if belongs(t) {
			wanted = append(wanted, t)
		} else {
			apart = append(apart, t)
		}
	}
	return wanted, apart
}

// hasAftermath reports whether on-failure hooks have to be applied or awaited after a call: because something has failed in it, or because they have begun
// before.
func (c *preparation) hasAftermath(result Result, err error) bool {
	if err != nil && !answers.IsAboutObjects(err) {
		return false
	}
	var refused *RefusedError
	failed := len(result.Failures) > 0 || errors.As(err, &refused)
	return slices.ContainsFunc(c.apart, func(t *desired.Object) bool {
		item := c.call.Ledger.Of(t)
		begun := item.Phase != "" && (item.Digest == t.Digest || t.Former != "" && item.Digest == t.Former)
		ended := item.Phase == inventory.PhaseCompleted || bookkeeping.IsDismissed(item) || item.Phase == inventory.PhaseReady && t.PurgeOrder == nil
		return begun && !ended || failed && (!begun || item.Status == status.FailedStatus)
	})
}

// follow applies the on-failure hooks after a call, and adds to its result how far they are.
func (r *Reconciler) follow(ctx context.Context, request ApplyRequest, result *Result) error {
	request.Inventory, request.Expected, request.CarryOn = result.Inventory, nil, false
	c, err := r.begin(request, r.server(), isAftermath)
	if err == nil {
		ctx = flow.WithLimiter(ctx, c.call.Server.Flow)
		err = c.open(ctx, request)
	}
	if err != nil {
		return fmt.Errorf("applying on-failure hooks: %w", err)
	}
	_, err = c.waves.Apply(ctx, c.wanted)
	if c.waves.Misplaced {
		c.call.Memory.Retain(nil)
	}
	summary := c.call.Report.End()
	result.Inventory = c.call.Ledger.Remaining()
	c.call.Memory.Keep(result.Inventory)
	result.Aftermath = Aftermath{Waits: summary.Waits, Failures: summary.Failures}
	result.Notes, result.Drift = append(result.Notes, summary.Notes...), append(result.Drift, summary.Drift...)
	result.Actions = append(result.Actions, summary.Actions...)
	if after := summary.RequeueAfter; after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	if err != nil {
		return fmt.Errorf("applying on-failure hooks: %w", err)
	}
	return nil
}
