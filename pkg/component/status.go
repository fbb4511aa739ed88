// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// +kubebuilder:object:generate=true

// Status is what the reconciler records about a component. The status of a component must be, or embed, a Status. Its
// schema refuses nothing: an operator that is newer, or older, than the CustomResourceDefinition must be able to write.
//
// So that tools can tell a component that nobody has looked at yet from one that is done, the field status of the
// component should be declared with the marker
//
//	+kubebuilder:default={"observedGeneration":-1}
//
// and so that kubectl get shows what matters, the component with the markers
//
//	+kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
//	+kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
//	+kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision`
//	+kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Status struct {
	// ObservedGeneration is the generation of the component that was reconciled last.
	// +kubebuilder:default=-1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// AppliedGeneration is the last generation with which all dependents became ready.
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`
	// LastObservedAt is the time of the reconciliation that changed this status last.
	LastObservedAt *metav1.Time `json:"lastObservedAt,omitempty"`
	// LastAppliedAt is the last time at which all dependents were ready when this status was written.
	LastAppliedAt *metav1.Time `json:"lastAppliedAt,omitempty"`
	// ProcessingDigest identifies what is being processed: the spec, the content of references, and the generator.
	ProcessingDigest string `json:"processingDigest,omitempty"`
	// ProcessingSince is the time since which the component has not been ready; unset while it is ready.
	ProcessingSince *metav1.Time `json:"processingSince,omitempty"`
	// LastProcessingDigest identifies what the revision stands for; see processingDigest.
	LastProcessingDigest string `json:"lastProcessingDigest,omitempty"`
	// Revision is incremented whenever the spec, the content of a reference, or the generator changes.
	Revision int64 `json:"revision,omitempty"`
	// InstalledRevision is the first revision with which all dependents became ready; unset before.
	InstalledRevision int64 `json:"installedRevision,omitempty"`
	// Conditions are Ready, Reconciling and Stalled.
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
	// State summarizes the conditions in one word.
	State State `json:"state,omitempty"`
	// Inventory lists the dependents. It is empty if inventoryRecord has them in another form.
	// +listType=atomic
	Inventory []*reconciler.InventoryItem `json:"inventory,omitempty"`
	// InventoryRecord holds the inventory, or says where it is stored, if it is too large for a list. It also lists kinds that could not be searched.
	InventoryRecord *InventoryRecord `json:"inventoryRecord,omitempty"`
	// DeletionHooks says where the objects are stored that are applied when the component is deleted.
	DeletionHooks *DeletionHooks `json:"deletionHooks,omitempty"`
}

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
	Inventory []*reconciler.InventoryItem `json:"inventory,omitempty"`
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

// +kubebuilder:object:generate=true

// InventoryRecord is an inventory in another form than that of a list: compressed, or in ConfigMaps, its chunks.
type InventoryRecord struct {
	// Inline means that status.inventory counts, and not this record. Chunks may exist that are about to be used, or to be removed.
	Inline bool `json:"inline,omitempty"`
	// Content is the inventory as a JSON list, compressed with gzip; empty if it is stored in chunks.
	Content []byte `json:"content,omitempty"`
	// Namespace of the chunks.
	Namespace string `json:"namespace,omitempty"`
	// PreviousNamespace is where chunks were stored before, and may still exist.
	PreviousNamespace string `json:"previousNamespace,omitempty"`
	// Chunks are the names of ConfigMaps, each of which holds some items.
	// +listType=atomic
	Chunks []string `json:"chunks,omitempty"`
	// Checksum is the SHA-256 of the decompressed content, or of those of all chunks in their order, in hexadecimal.
	Checksum string `json:"checksum,omitempty"`
	// Items is the number of items.
	Items int `json:"items,omitempty"`
	// Kinds are the types of all items.
	// +listType=atomic
	Kinds []reconciler.TypeVersionInfo `json:"kinds,omitempty"`
	// Completed lists up to 100 dependents that were purged, because they could not be found again if chunks were lost.
	// +listType=atomic
	Completed []CompletedDependent `json:"completed,omitempty"`
	// Unlisted are kinds that could not be listed when the inventory was rebuilt: there may be unknown dependents of these kinds.
	// +listType=atomic
	Unlisted []UnlistedKind `json:"unlisted,omitempty"`
}

// +kubebuilder:object:generate=true

// UnlistedKind is a kind, or all kinds of a group, of which it is not known which objects there are.
type UnlistedKind struct {
	// API group; empty for the core group.
	// +optional
	Group string `json:"group"`
	// API kind, or "*".
	// +optional
	Kind string `json:"kind"`
}

// +kubebuilder:object:generate=true

// CompletedDependent is a dependent that was purged.
type CompletedDependent struct {
	reconciler.TypeVersionInfo `json:",inline"`
	reconciler.NameInfo        `json:",inline"`
	// Digest of the manifest that was applied.
	// +optional
	Digest string `json:"digest"`
}

// State summarizes how far a component is.
type State string

const (
	// StateReady means that all dependents are as declared, and ready.
	StateReady State = "Ready"
	// StatePending means that something outside is awaited: a reference, a hook, the end of a suspension.
	StatePending State = "Pending"
	// StateProcessing means that dependents are being applied, or are awaited.
	StateProcessing State = "Processing"
	// StateDeletionPending is StatePending of a component that is being deleted.
	StateDeletionPending State = "DeletionPending"
	// StateDeleting means that dependents are being deleted, or that something forbids it.
	StateDeleting State = "Deleting"
	// StateError means that something failed, or did not finish within the timeout.
	StateError State = "Error"
)

// +kubebuilder:object:generate=true

// Condition is one aspect of the status, in the form that tools know from metav1.Condition.
type Condition struct {
	// Type of the condition.
	// +optional
	Type ConditionType `json:"type"`
	// Status of the condition.
	// +optional
	Status ConditionStatus `json:"status"`
	// LastTransitionTime is the last time at which the status of the condition changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
	// Reason for the status, as one word in CamelCase.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message with details for people.
	// +optional
	Message string `json:"message,omitempty"`
	// ObservedGeneration is the generation of the component that the condition is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// ConditionType names an aspect of the status.
type ConditionType string

const (
	// ConditionTypeReady is True if the state is Ready, False if it is Error, and Unknown otherwise.
	ConditionTypeReady ConditionType = "Ready"
	// ConditionTypeReconciling is True while the component is on its way to the declared state, or to its deletion.
	ConditionTypeReconciling ConditionType = "Reconciling"
	// ConditionTypeStalled is True if the component will not get there, as far as can be told.
	ConditionTypeStalled ConditionType = "Stalled"
)

// ConditionStatus is the value of a condition.
type ConditionStatus string

const (
	// ConditionTrue means that the condition holds.
	ConditionTrue ConditionStatus = "True"
	// ConditionFalse means that the condition does not hold.
	ConditionFalse ConditionStatus = "False"
	// ConditionUnknown means that it is not decided yet whether the condition holds.
	ConditionUnknown ConditionStatus = "Unknown"
)

// Reasons of the conditions.
const (
	// ReadyConditionReasonNew means that the component was seen, and nothing was written to the cluster yet.
	ReadyConditionReasonNew = "FirstSeen"
	// ReadyConditionReasonRetrying means that something is awaited that was reported by a types.RetriableError.
	ReadyConditionReasonRetrying = "Retrying"
	// ReadyConditionReasonRestarting means that processing begins anew, because what is declared has changed.
	ReadyConditionReasonRestarting = "Restarting"
	// ReadyConditionReasonProcessing means that dependents are applied or awaited.
	ReadyConditionReasonProcessing = "Processing"
	// ReadyConditionReasonReady means that all dependents are ready.
	ReadyConditionReasonReady = "Ready"
	// ReadyConditionReasonError means that something failed.
	ReadyConditionReasonError = "Error"
	// ReadyConditionReasonTimeout means that the component did not become ready in time.
	ReadyConditionReasonTimeout = "Timeout"
	// ReadyConditionReasonSuspended means that the component is suspended.
	ReadyConditionReasonSuspended = "Suspended"
	// ReadyConditionReasonDeletionRetrying is ReadyConditionReasonRetrying of a component that is being deleted.
	ReadyConditionReasonDeletionRetrying = "DeletionRetrying"
	// ReadyConditionReasonDeletionBlocked means that foreign objects, or foreign finalizers, forbid the deletion.
	ReadyConditionReasonDeletionBlocked = "DeletionBlocked"
	// ReadyConditionReasonDeletionProcessing means that dependents are deleted, or are awaited to be gone.
	ReadyConditionReasonDeletionProcessing = "DeletionProcessing"
)

// IsReady reports whether the component is ready in the generation that was observed.
func (s *Status) IsReady() bool {
	return s.State == StateReady
}

// GetState returns state, reason and message. The last two are those of the Ready condition.
func (s *Status) GetState() (State, string, string) {
	if condition := s.condition(ConditionTypeReady); condition != nil {
		return s.State, condition.Reason, condition.Message
	}
	return s.State, "", ""
}

// SetState sets the state, and all conditions such that they agree with it. Times of transition change only for
// conditions whose status changes.
func (s *Status) SetState(state State, reason string, message string) {
	s.setState(verdict{state: state, reason: reason, message: message}, metav1.Now())
}

func (s *Status) condition(name ConditionType) *Condition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == name {
			return &s.Conditions[i]
		}
	}
	return nil
}
