// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/barriers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/losses"
)

// requestEnd requests the deletion of the object that was seen, and reports whether the server has said that it is gone. An
// object that defines types is deleted only if it has no instances, and none can be created (see barrier): they would go with
// it, whatever finalizers it has. Likewise, a namespace is deleted only if there is nothing of others in it. Otherwise held says
// what is awaited; it is nil if the deletion was requested.
func (r *Remover) requestEnd(ctx context.Context, item *inventory.Item, s decisions.Situation) (gone bool, held *outcome, err error) {
	if kinds.IsNamespace(item.GroupVersionKind().GroupKind()) {
		if message, err := r.Losses.HoldNamespace(ctx, item); err != nil || message != "" {
			r.Retry(item)
			return false, &outcome{item: item, message: message}, err
		}
	}
	if !kinds.DefinesTypes(item.GroupVersionKind().GroupKind()) {
		gone, err = r.Executor.RequestDeletion(ctx, item, s)
		return gone, nil, err
	}
	if awaited, err := r.Barriers.Await(ctx, item, r.Barriers.For(item, s.Seen.UID)); err != nil || awaited {
		return false, &outcome{item: item, message: barriers.Awaited, securing: true}, err
	}
	brought, err := r.Losses.BroughtBy(ctx, item)
	if err != nil {
		return false, nil, err
	}
	blockers, resources, err := r.Losses.Instances(ctx, brought, "")
	if err != nil {
		return false, nil, err
	}
	if len(blockers) > 0 {
		r.Report.Guards(resources)
		// An instance that carries our label although it is not recorded goes without an event.
		r.Retry(item)
		texts := losses.Texts(blockers)
		held = &outcome{item: item, instances: texts, message: "kept as long as there are instances of its types: " + texts}
		return false, held, r.Barriers.Lift(ctx, item)
	}
	if b := r.Barriers.For(item, s.Seen.UID); b != nil && item.Barrier == "" {
		return false, &outcome{item: item, message: barriers.Awaited, securing: true, barrier: b}, nil
	}
	if gone, err = r.Executor.RequestDeletion(ctx, item, s); err != nil || gone {
		return gone, nil, err
	}
	return false, nil, r.Executor.ReleaseFinalizer(ctx, item)
}

// held settles an object that must not be deleted as things are. A namespace may be released by hand.
func (r *Remover) held(ctx context.Context, item *inventory.Item, s decisions.Situation, d decisions.Deletion, o outcome) (outcome, error) {
	if !kinds.IsNamespace(item.GroupVersionKind().GroupKind()) {
		return o, nil
	}
	if released, err := r.Losses.IsReleased(ctx, item); err != nil || !released {
		return o, err
	}
	return r.end(ctx, item, s, d, decisions.Release, "")
}
