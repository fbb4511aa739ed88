// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/barriers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/losses"
)

// requestEnd requests the deletion of the observed object, and reports whether the response proves that it is gone. An object
// that defines types is deleted only if it has no instances, and a barrier denies new ones, because they would be deleted with it
// whatever finalizers they have. A namespace is deleted only if it contains nothing but dependents. If the deletion was not
// requested, held says what it waits for.
func (r *Remover) requestEnd(ctx context.Context, item *inventory.Item, s decisions.Situation) (gone bool, held *outcome, err error) {
	if kinds.IsNamespace(item.GroupVersionKind().GroupKind()) {
		if message, err := r.call.Losses.HoldNamespace(ctx, item); err != nil || message != "" {
			r.call.Retry(item)
			return false, &outcome{item: item, message: message}, err
		}
	}
	if !kinds.DefinesTypes(item.GroupVersionKind().GroupKind()) {
		gone, err = r.releaseAndDelete(ctx, item, s)
		return gone, nil, err
	}
	if awaited, err := r.call.Barriers.Await(ctx, item, r.call.Barriers.For(item, s.Seen.UID)); err != nil || awaited {
		return false, &outcome{item: item, message: barriers.Awaited, keepsBarrier: true}, err
	}
	defined, err := r.call.Losses.DefinedBy(ctx, item)
	if err != nil {
		return false, nil, err
	}
	blockers, resources, err := r.call.Losses.Instances(ctx, defined, "")
	if err != nil {
		return false, nil, err
	}
	if len(blockers) > 0 {
		r.call.Report.Guards(resources)
		// The deletion of an instance that has our label, but is not recorded, causes no event.
		r.call.Retry(item)
		texts := losses.Texts(blockers)
		held = &outcome{item: item, instances: texts, message: "kept while there are instances of its types: " + texts}
		return false, held, r.call.Barriers.Lift(ctx, item)
	}
	if b := r.call.Barriers.For(item, s.Seen.UID); b != nil && item.Barrier == "" {
		return false, &outcome{item: item, message: barriers.Awaited, keepsBarrier: true, barrier: b}, nil
	}
	if gone, err = r.call.Executor.RequestDeletion(ctx, item, s); err != nil || gone {
		return gone, nil, err
	}
	return false, nil, r.call.Executor.RemoveFinalizer(ctx, item)
}

// releaseAndDelete requests the deletion of an object that must not wait for us any more.
func (r *Remover) releaseAndDelete(ctx context.Context, item *inventory.Item, s decisions.Situation) (gone bool, err error) {
	if s, err = r.call.Executor.Release(ctx, item, s); err != nil && !answers.IsGone(err) {
		return false, err
	}
	return r.call.Executor.RequestDeletion(ctx, item, s)
}

// held returns the outcome for an object that must not be deleted yet. It orphans a namespace that the user has marked so in the
// cluster.
func (r *Remover) held(ctx context.Context, item *inventory.Item, s decisions.Situation, d decisions.Deletion, o outcome) (outcome, error) {
	if !kinds.IsNamespace(item.GroupVersionKind().GroupKind()) {
		return o, nil
	}
	if orphaned, err := r.call.Losses.IsMarkedOrphan(ctx, item); err != nil || !orphaned {
		return o, err
	}
	return r.end(ctx, item, s, d, decisions.Orphan, "")
}
