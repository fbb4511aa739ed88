// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/reconciler/internal/answers"
	"github.com/component-operator/runtime/pkg/reconciler/internal/losses"
	"github.com/component-operator/runtime/pkg/types"
)

// CheckDeletion returns what forbids to delete the dependents of the owner: for each managed type of which there are
// instances that do not belong to the owner, one of them; of ten types at most. As long as there are any, the observer notifies the
// owner when the last instance of one of these types goes, and now and then before.
//
// Instances of additional managed types always count. Instances of types that a dependent defines do not if all
// dependents are going to be released.
//
// Types are looked at with the identity of the client. If that may not list one, the reconciler whose As has returned this one looks, unless
// nobody but the owner has named the type; then the error is that of the API server, or nil if none of the dependents is left.
func (r *Reconciler) CheckDeletion(ctx context.Context, request DeleteRequest) ([]Blocker, error) {
	c := r.call(request.Owner, request.Inventory)
	demands, err := c.Losses.Demands(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for what defines managed types: %w", err)
	}
	blockers, resources, err := c.Losses.Instances(ctx, demands, digest.OwnerLabel(request.ID))
	if apierrors.IsForbidden(err) && c.Losses.IsNothingLeft(ctx) {
		// Rights may go with the dependents, as with a namespace. Nothing is going to be deleted any more.
		err = nil
	}
	if answers.IsUnknownType(err) {
		return nil, types.NewRetriableError(fmt.Errorf("looking for instances of managed types: %w", err), new(losses.UnknownTypeDelay))
	}
	if err != nil {
		return nil, fmt.Errorf("looking for instances of managed types: %w", err)
	}
	r.cache.Guard(c.Owner.Label, resources)
	return blockers, nil
}
