// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"slices"

	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
)

// retreat is the result of a pass that did not begin. It leaves no barriers behind.
func (r *Reconciler) retreat(ctx context.Context, owner Owner, reason error) (Result, error) {
	inventory, err := r.LiftBarriers(ctx, DeleteRequest{Owner: owner})
	if err != nil {
		reason = answers.Join(reason, err)
	}
	return Result{Inventory: inventory}, reason
}

// LiftBarriers allows creating instances again of types whose deletion has begun and does not go on, because the caller does not call
// Apply or Delete until something else has happened. It returns the inventory, which the caller must persist, and makes no request if there
// is nothing to remove.
func (r *Reconciler) LiftBarriers(ctx context.Context, request DeleteRequest) ([]*InventoryItem, error) {
	items := slices.Clone(request.Inventory)
	c := r.call(request.Owner, items)
	for i, recorded := range items {
		if recorded.Barrier == "" {
			continue
		}
		items[i] = recorded.DeepCopy()
		if err := c.Barriers.Lift(ctx, items[i]); err != nil {
			return items, err
		}
	}
	return items, nil
}
