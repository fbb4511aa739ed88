// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import "github.com/component-operator/runtime/pkg/inventory"

// The words in which a status records dependents; see package inventory.
type (
	// InventoryRecord is an inventory in another form than that of a list: compressed, or in ConfigMaps, its chunks.
	InventoryRecord = inventory.Record
	// UnlistedKind is a kind, or all kinds of a group, of which it is not known which objects there are.
	UnlistedKind = inventory.UnlistedKind
	// CompletedDependent is a dependent that was purged.
	CompletedDependent = inventory.CompletedDependent
	// DeletionHooks refers to objects that are applied when the component is deleted.
	DeletionHooks = inventory.DeletionHooks
	// DeletionStage says how far the deletion of a component with deletion hooks has come.
	DeletionStage = inventory.DeletionStage
)

const (
	// DeletionStagePreDelete means that pre-delete hooks are applied and awaited.
	DeletionStagePreDelete = inventory.DeletionStagePreDelete
	// DeletionStagePreDeleteCleanup means that pre-delete hooks are done, and are being removed.
	DeletionStagePreDeleteCleanup = inventory.DeletionStagePreDeleteCleanup
	// DeletionStageDependents means that dependents are being deleted.
	DeletionStageDependents = inventory.DeletionStageDependents
	// DeletionStagePostDelete means that post-delete hooks are applied and awaited.
	DeletionStagePostDelete = inventory.DeletionStagePostDelete
	// DeletionStagePostDeleteCleanup means that post-delete hooks are done, and are being removed.
	DeletionStagePostDeleteCleanup = inventory.DeletionStagePostDeleteCleanup
	// DeletionStageDone means that no hook is left to be applied or removed.
	DeletionStageDone = inventory.DeletionStageDone
)
