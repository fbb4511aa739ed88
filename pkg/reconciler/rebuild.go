// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/flow"
	"github.com/component-operator/runtime/pkg/reconciler/internal/policies"
	"github.com/component-operator/runtime/pkg/reconciler/internal/rebuild"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/types"
)

// RebuildRequest is the input of Reconciler.Rebuild.
type RebuildRequest struct {
	// ID is that of the owner. Required.
	ID string
	// Known are items that are recorded in spite of the loss. They are taken over as they are.
	Known []*InventoryItem
	// Objects are the wanted objects, as far as they are known. Their types are looked into.
	Objects []client.Object
	// Types are looked into as well. A kind of "*" stands for all kinds of a group, a group of "*" for all groups. The version does
	// not matter: one that is served is found.
	Types []TypeVersionInfo
	// Namespaces are looked into one by one for types that must not be listed in the whole cluster.
	Namespaces []string
	// Policies are those of the owner. They count for objects whose annotations do not say otherwise.
	Policies Policies
}

// RebuildResult is what Reconciler.Rebuild has found.
type RebuildResult struct {
	// Inventory holds the known items and the found ones, in the order in which inventories are kept.
	Inventory []*InventoryItem
	// Found is the number of items that were not known.
	Found int
	// Unlisted are the types of which it is not known whether there are objects, because it is forbidden to list them, or
	// because their API does not answer to discovery (then the kind is "*"). Sorted.
	Unlisted []TypeInfo
}

// Rebuild finds the objects that belong to an owner by their label, for an inventory that was lost. It changes nothing. An object
// counts only if it carries the id of the owner in its annotation, too, and if Options.FieldOwner has written to it (on servers that do not
// tell who wrote what: unless it has a controller), because people and controllers make copies of objects with labels and annotations. Objects
// in which dependents are recorded do not count.
//
// A found object is recorded such that Apply verifies it by an apply that has no effect unless something is to be changed, and
// that it is not created anew for lack of a record. Objects that were purged are not found. A failure other
// than those that RebuildResult.Unlisted is about is an error, and worth a retry.
func (r *Reconciler) Rebuild(ctx context.Context, request RebuildRequest) (RebuildResult, error) {
	declared, err := policies.Validate(request.Policies)
	if err != nil {
		return RebuildResult{}, err
	}
	c := r.call(Owner{ID: request.ID}, nil)
	found, err := rebuild.Find(flow.WithLimiter(ctx, c.Server.Flow), c, rebuild.Request{
		Objects: request.Objects, Types: request.Types, Namespaces: request.Namespaces, Policies: policies.Or(declared, r.options.Policies),
	})
	if err != nil {
		return RebuildResult{}, err
	}
	result := RebuildResult{Inventory: slices.Clone(request.Known), Unlisted: found.Unlisted}
	known := records.Index(request.Known)
	for _, item := range found.Items {
		if known[types.IDOf(item)] == nil {
			result.Inventory = append(result.Inventory, item)
			result.Found++
		}
	}
	records.Sort(result.Inventory)
	return result, nil
}
