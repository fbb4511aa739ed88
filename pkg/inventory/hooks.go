// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

// +kubebuilder:object:generate=true

// DeletionHooks refers to objects that are applied when the component is deleted. They are kept in Secrets, because what they were
// made of may be gone by then.
type DeletionHooks struct {
	// Namespace of the Secrets.
	// +optional
	Namespace string `json:"namespace"`
	// PreviousNamespace is where Secrets were stored before, and may still exist.
	PreviousNamespace string `json:"previousNamespace,omitempty"`
	// Secrets are the names of Secrets, each of which holds some objects.
	// +listType=atomic
	// +optional
	Secrets []string `json:"secrets"`
	// Checksum is the SHA-256 of the decompressed contents of all Secrets, in their order, in hexadecimal.
	// +optional
	Checksum string `json:"checksum"`
	// Objects is the number of objects.
	// +optional
	Objects int `json:"objects"`
	// Stage of the deletion; empty before it begins.
	Stage DeletionStage `json:"stage,omitempty"`
	// Inventory lists the objects that were applied, and have not been removed yet.
	// +listType=atomic
	Inventory []*Item `json:"inventory,omitempty"`
}

// DeletionStage says how far the deletion of a component with deletion hooks has come.
type DeletionStage string

const (
	// DeletionStagePreDelete means that pre-delete hooks are applied and awaited.
	DeletionStagePreDelete DeletionStage = "PreDelete"
	// DeletionStagePreDeleteCleanup means that pre-delete hooks are done, and are being removed.
	DeletionStagePreDeleteCleanup DeletionStage = "PreDeleteCleanup"
	// DeletionStageDependents means that dependents are being deleted.
	DeletionStageDependents DeletionStage = "Dependents"
	// DeletionStagePostDelete means that post-delete hooks are applied and awaited.
	DeletionStagePostDelete DeletionStage = "PostDelete"
	// DeletionStagePostDeleteCleanup means that post-delete hooks are done, and are being removed.
	DeletionStagePostDeleteCleanup DeletionStage = "PostDeleteCleanup"
	// DeletionStageDone means that no hook is left to be applied or removed.
	DeletionStageDone DeletionStage = "Done"
)
