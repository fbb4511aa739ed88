// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"slices"

	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
)

// abort returns the result of a pass that could not begin, and lifts barriers that earlier passes have left.
func (r *Reconciler) abort(ctx context.Context, owner Owner, reason error) (Result, error) {
	inventory, err := r.LiftBarriers(ctx, DeleteRequest{Owner: owner})
	if err != nil {
		reason = execute.Join(reason, err)
	}
	return Result{Inventory: inventory}, reason
}

// LiftBarriers removes the barriers of an owner, so that instances of the types can be created again. A caller that has
// begun a deletion calls it if it is not going to call Apply or Delete for a while. It returns the inventory, which the
// caller must persist, and makes no request if there are no barriers.
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
