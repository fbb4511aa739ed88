// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import "slices"

// +kubebuilder:object:generate=true

// DeletionHooks refers to the objects that are applied when the component is deleted. They are stored in Secrets,
// because the sources they were generated from may no longer exist by then.
type DeletionHooks struct {
	// Namespace of the Secrets.
	// +optional
	Namespace string `json:"namespace"`
	// Secrets are the names of Secrets, each of which holds some objects.
	// +listType=atomic
	// +optional
	Secrets []string `json:"secrets"`
	// Checksum is the hexadecimal SHA-256 of the decompressed contents of all Secrets, in their order.
	// +optional
	Checksum string `json:"checksum"`
	// Objects is the number of stored objects.
	// +optional
	Objects int `json:"objects"`
	// Stage of the deletion; empty before the deletion begins.
	Stage DeletionStage `json:"stage,omitempty"`
	// Inventory lists the hook objects that were applied and not removed yet.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	Inventory []*Item `json:"inventory,omitempty"`
}

// DeletionStage says how far the deletion of a component with deletion hooks has come.
type DeletionStage string

const (
	// DeletionStagePreDelete means that pre-delete hooks are being applied, and are not all ready.
	DeletionStagePreDelete DeletionStage = "PreDelete"
	// DeletionStagePreDeleteCleanup means that pre-delete hooks were ready, and are being removed.
	DeletionStagePreDeleteCleanup DeletionStage = "PreDeleteCleanup"
	// DeletionStageDependents means that dependents are being deleted.
	DeletionStageDependents DeletionStage = "Dependents"
	// DeletionStagePostDelete means that post-delete hooks are being applied, and are not all ready.
	DeletionStagePostDelete DeletionStage = "PostDelete"
	// DeletionStagePostDeleteCleanup means that post-delete hooks were ready, and are being removed.
	DeletionStagePostDeleteCleanup DeletionStage = "PostDeleteCleanup"
	// DeletionStageDone means that all hooks are done and removed.
	DeletionStageDone DeletionStage = "Done"
)

// deletionStages has all stages in their order; the empty one is for a deletion that has not begun.
var deletionStages = []DeletionStage{
	"", DeletionStagePreDelete, DeletionStagePreDeleteCleanup, DeletionStageDependents, DeletionStagePostDelete, DeletionStagePostDeleteCleanup, DeletionStageDone,
}

// Reached reports whether a deletion has reached the stage, or passed it. Unknown stages come before all others.
func (s DeletionStage) Reached(stage DeletionStage) bool {
	return slices.Index(deletionStages, s) >= slices.Index(deletionStages, stage)
}
