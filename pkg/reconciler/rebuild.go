// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// RebuildRequest is the input of Reconciler.Rebuild.
type RebuildRequest struct {
	// ID is that of the owner. Required.
	ID string
	// Known are items that were not lost. The result has them as they are.
	Known []*InventoryItem
	// Objects are the wanted objects, as far as they are known. Rebuild lists their types.
	Objects []client.Object
	// Types are further types to list. A kind of "*" stands for all kinds of a group, a group of "*" for all groups.
	// The version is ignored: Rebuild uses one that is served.
	Types []TypeVersionInfo
	// Namespaces are listed one by one for types that the client may not list in the whole cluster.
	Namespaces []string
	// Policies of the owner, for objects whose annotations do not say otherwise.
	Policies Policies
}

// RebuildResult is the result of Reconciler.Rebuild.
type RebuildResult struct {
	// Inventory holds the known items and the found ones, in the order in which inventories are kept.
	Inventory []*InventoryItem
	// Found is the number of items that were not known.
	Found int
	// Unlisted are the types that could not be listed, because that is forbidden, or because their API does not answer
	// to discovery (then the kind is "*"). Sorted. They may have dependents that were not found.
	Unlisted []TypeInfo
}

// Rebuild makes a lost inventory again: it finds the objects with the label of the owner. It changes nothing. Since
// users and controllers copy objects with labels and annotations, an object counts only if its annotation has the
// owner's ID too, and if Options.FieldOwner has written to it (on servers that do not track field ownership: unless it
// has a controller). Objects that hold inventories do not count.
//
// Apply verifies a found object with an apply that changes nothing unless the object differs from its manifest, and
// does not recreate it. Purged objects cannot be found. An error means that the search is incomplete for another reason
// than RebuildResult.Unlisted, and is worth a retry.
func (r *Reconciler) Rebuild(ctx context.Context, request RebuildRequest) (RebuildResult, error) {
	declared, err := prepare.Validate(request.Policies)
	if err != nil {
		return RebuildResult{}, err
	}
	result := RebuildResult{Inventory: slices.Clone(request.Known)}
	c := r.call(Owner{ID: request.ID}, nil)
	request.Policies = prepare.Or(declared, r.options.Policies)
	found, unlisted, err := findDependents(ctx, c, request)
	if err != nil {
		return RebuildResult{}, err
	}
	result.Unlisted = unlisted
	known := decide.Index(result.Inventory)
	for _, item := range found {
		if known[types.IDOf(item)] == nil {
			result.Inventory = append(result.Inventory, item)
			result.Found++
		}
	}
	decide.Sort(result.Inventory)
	return result, nil
}
