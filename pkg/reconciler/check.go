// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// CheckDeletion returns the blockers of a deletion: for each managed type with instances that do not belong to the
// owner, one instance; at most ten types. While there are blockers, the subscription of the owner is notified at growing
// intervals of up to 30 seconds, so that the caller asks again.
//
// Instances of additional managed types always count. Instances of a type that a dependent defines do not count if this
// dependent is going to be orphaned: they stay with it.
//
// Instances are listed with the identity of the client, or where that is forbidden with that of the reconciler whose As
// returned this one. The exception are types that only Owner.AdditionalManagedTypes names: there the error is that of
// the API server, or nil if no dependent is left.
func (r *Reconciler) CheckDeletion(ctx context.Context, request DeleteRequest) ([]Blocker, error) {
	if err := checkManagedTypes(request.AdditionalManagedTypes); err != nil {
		return nil, err
	}
	c := r.call(request.Owner, request.Inventory)
	for _, owner := range request.Departing {
		c.Losses.Departing = append(c.Losses.Departing, guard.Departing{Label: manifest.OwnerLabel(owner.ID), Items: owner.Inventory})
	}
	demands, err := c.Losses.Demands(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding the managed types: %w", err)
	}
	blockers, err := c.Losses.Instances(ctx, demands, manifest.OwnerLabel(request.ID))
	if apierrors.IsForbidden(err) && c.Losses.IsNothingLeft(ctx) {
		// The rights may have been deleted with the dependents, for example with a namespace. Nothing is left to
		// delete.
		err = nil
	}
	if execute.IsUnknownType(err) {
		return nil, types.NewRetriableError(fmt.Errorf("looking for instances of managed types: %w", err), new(guard.UnknownTypeDelay))
	}
	if err != nil {
		return nil, fmt.Errorf("looking for instances of managed types: %w", err)
	}
	if len(blockers) > 0 {
		r.cache.notifyAfter(c.Owner.Label, c.Memory.Retry(types.ObjectID{}, r.options.Clock.Now()))
	}
	return blockers, nil
}

// CheckNamespaces returns a notice for each namespace among the dependents that Delete would keep if it came to it now,
// because of objects in it that are neither dependents nor owned by other objects. It is a warning: some of these
// objects may be gone when Delete comes to the namespace, since other dependents made them. It takes one request for
// each type of namespaced objects, for each namespace.
func (r *Reconciler) CheckNamespaces(ctx context.Context, request DeleteRequest) ([]Notice, error) {
	call := r.deletion(request)
	var notices []Notice
	for _, item := range call.Ledger.Items {
		if !prepare.IsNamespace(item.GroupVersionKind().GroupKind()) || item.DeletePolicy == DeletePolicyOrphan || item.Phase == PhaseCompleted {
			continue
		}
		message, err := call.Losses.HoldNamespace(ctx, item)
		if err != nil {
			return nil, fmt.Errorf("looking for objects in namespace %s: %w", item.Name, err)
		}
		if message != "" {
			notices = append(notices, Notice{Object: item, Message: message})
		}
	}
	return notices, nil
}
