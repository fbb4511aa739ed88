// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/probes"
)

// LabelRevisionsOf is a label of sets. Sets of one kind and namespace that have the same value of it are revisions of
// one set: see SetSpec.Revision.
const LabelRevisionsOf = "core.component-operator.dev/revisions-of"

// MaxRevision is the maximum revision of a set: the largest integer that all readers of JSON keep.
const MaxRevision = 1 << 53

// SetSpec is what the specs of ObjectSets and ClusterObjectSets have in common. All but the lifecycle state and the
// deadline is fixed once the set exists.
//
// +kubebuilder:validation:XValidation:rule="self.phases == oldSelf.phases",message="phases cannot be changed; create another set"
// +kubebuilder:validation:XValidation:rule="self.availabilityProbes == oldSelf.availabilityProbes",message="availabilityProbes cannot be changed; create another set"
// +kubebuilder:validation:XValidation:rule="self.collisionProtection == oldSelf.collisionProtection",message="collisionProtection cannot be changed; create another set"
// +kubebuilder:validation:XValidation:rule="self.successDelaySeconds == oldSelf.successDelaySeconds",message="successDelaySeconds cannot be changed; create another set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.revision) || self.?revision == oldSelf.?revision",message="revision cannot be changed; create another set"
type SetSpec struct {
	SetContent `json:",inline"`
	// LifecycleState is Active, Paused or Archived. Active: the objects are applied, and corrected if others change
	// them. Paused: nothing is written or deleted, and the probes are evaluated. Archived: the objects are deleted in
	// reversed order of the phases, and the set stays. Defaults to Active.
	// +kubebuilder:default=Active
	LifecycleState LifecycleState `json:"lifecycleState,omitempty"`
	// ProgressDeadlineSeconds is how long the set may take to become available before it is reported as stalled.
	// Defaults to 600.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`
	// Revision orders the sets that have the same value of the label core.component-operator.dev/revisions-of: a set
	// adopts objects from sets with lower revisions, and leaves objects of sets with higher revisions alone. It cannot
	// be changed once it is set.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9007199254740992
	Revision int64 `json:"revision,omitempty"`
	// Previous are sets, of the same kind and namespace, whose objects this set adopts, whatever their revisions. A set
	// that does not exist is ignored.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="previous cannot be changed; create another set"
	Previous []PreviousReference `json:"previous,omitempty"`
}

// SetContent is what a set consists of, and what the template of a deployment has.
type SetContent struct {
	// Phases are applied in this order, and deleted in the reverse. A phase begins when all objects of the one before
	// are available.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Phases []Phase `json:"phases"`
	// AvailabilityProbes say when an object is available. An object that no probe selects is available as soon as it is
	// applied. Defaults to none.
	// +listType=atomic
	// +kubebuilder:default={}
	// +kubebuilder:validation:MaxItems=256
	AvailabilityProbes []probes.Probe `json:"availabilityProbes,omitempty"`
	// CollisionProtection says what happens if an object already exists, and the set, or an earlier revision of it, has
	// not created it. Defaults to Prevent.
	// +kubebuilder:default=Prevent
	CollisionProtection CollisionProtection `json:"collisionProtection,omitempty"`
	// SuccessDelaySeconds is how long the set must be available before the condition Succeeded is True. Defaults to 0.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	SuccessDelaySeconds int32 `json:"successDelaySeconds,omitempty"`
}

// LifecycleState says what a set does with its objects.
//
// +kubebuilder:validation:Enum=Active;Paused;Archived
type LifecycleState string

const (
	// LifecycleStateActive means that the objects are applied, and corrected if others change them.
	LifecycleStateActive LifecycleState = "Active"
	// LifecycleStatePaused means that nothing is written or deleted. Probes are evaluated.
	LifecycleStatePaused LifecycleState = "Paused"
	// LifecycleStateArchived means that the objects are deleted, and the set stays.
	LifecycleStateArchived LifecycleState = "Archived"
)

// CollisionProtection says what happens if an object already exists, and the set has not created it. Objects of earlier
// revisions are always adopted.
//
// +kubebuilder:validation:Enum=Prevent;IfNoController;None
type CollisionProtection string

const (
	// CollisionProtectionPrevent means that an existing object is not adopted.
	CollisionProtectionPrevent CollisionProtection = "Prevent"
	// CollisionProtectionIfNoController means that an existing object is adopted if it has no other owner: no set, no
	// controller reference, no Helm release.
	CollisionProtectionIfNoController CollisionProtection = "IfNoController"
	// CollisionProtectionNone means that an existing object is adopted from any owner.
	CollisionProtectionNone CollisionProtection = "None"
)

// Phase has objects that are applied together.
type Phase struct {
	// Name of the phase, a DNS label. Unique within the set.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Objects of the phase. They are applied at the same time; only Namespaces, definitions of types and the like come
	// first. Defaults to none.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5000
	Objects []Object `json:"objects,omitempty"`
}

// Object is one object of a phase.
type Object struct {
	// Object is the manifest, with apiVersion, kind and metadata.name. Fields that the API server sets, such as
	// metadata.uid and status, are ignored.
	// +kubebuilder:pruning:PreserveUnknownFields
	Object runtime.RawExtension `json:"object"`
	// CollisionProtection of this object. Defaults to that of the set.
	CollisionProtection CollisionProtection `json:"collisionProtection,omitempty"`
}

// PreviousReference names another set.
type PreviousReference struct {
	// Name of the set.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// SetStatus is the status of a set.
//
// Beside Ready, Reconciling and Stalled, a set has the conditions Available, Progressing, InTransition, Succeeded,
// Paused and Archived.
type SetStatus struct {
	component.Status `json:",inline"`
	// Phases says how far each phase is.
	// +listType=map
	// +listMapKey=name
	Phases []PhaseStatus `json:"phases,omitempty"`
}

// PhaseStatus says how far a phase is.
type PhaseStatus struct {
	// Name of the phase.
	Name string `json:"name"`
	// Objects is the number of objects in the phase.
	Objects int32 `json:"objects"`
	// Applied is the number of objects that are applied, and belong to the set.
	Applied int32 `json:"applied"`
	// Available is the number of objects that are available, whether they belong to the set or to a later revision.
	Available int32 `json:"available"`
	// Progressed is the number of objects that a later revision has adopted.
	Progressed int32 `json:"progressed,omitempty"`
}

// Types of the conditions of a set.
const (
	// ConditionTypeAvailable is True if all objects of all phases are available. Otherwise, its message names the first
	// phase that is not, its objects, and what their probes saw.
	ConditionTypeAvailable component.ConditionType = "Available"
	// ConditionTypeProgressing is True while the set is rolled out, archived or deleted.
	ConditionTypeProgressing component.ConditionType = "Progressing"
	// ConditionTypeInTransition is True while some objects do not belong to the set: because they are not applied yet,
	// or because a later revision has adopted them.
	ConditionTypeInTransition component.ConditionType = "InTransition"
	// ConditionTypeSucceeded becomes True when the set has been available for spec.successDelaySeconds, and stays so.
	ConditionTypeSucceeded component.ConditionType = "Succeeded"
	// ConditionTypePaused is True while the set is paused, and is missing otherwise.
	ConditionTypePaused component.ConditionType = "Paused"
	// ConditionTypeArchived is True if the set is archived and has no objects any more, False while they are being
	// deleted, and is missing otherwise.
	ConditionTypeArchived component.ConditionType = "Archived"
)

// Reasons of the conditions of a set.
const (
	// ReasonAvailable means that all objects are available.
	ReasonAvailable = "Available"
	// ReasonProbeFailure means that objects are not available.
	ReasonProbeFailure = "ProbeFailure"
	// ReasonCollisionDetected means that an object belongs to somebody else.
	ReasonCollisionDetected = "CollisionDetected"
	// ReasonPreflightError means that the set, or one of its objects, cannot be accepted as it is, or that the type of
	// an object is not served.
	ReasonPreflightError = "PreflightError"
	// ReasonRollingOut means that phases are being applied.
	ReasonRollingOut = "RollingOut"
	// ReasonProgressDeadlineExceeded means that the set did not become available in time.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonHandedOver means that a later revision has adopted objects.
	ReasonHandedOver = "HandedOver"
	// ReasonSettled means that all objects belong to the set.
	ReasonSettled = "Settled"
	// ReasonIdle means that there is nothing to do.
	ReasonIdle = "Idle"
	// ReasonRolloutSuccess means that the set was available for long enough.
	ReasonRolloutSuccess = "RolloutSuccess"
	// ReasonPaused means that the set is paused.
	ReasonPaused = "Paused"
	// ReasonArchived means that the objects of the archived set are gone.
	ReasonArchived = "Archived"
	// ReasonArchivalInProgress means that the objects of the archived set are being deleted.
	ReasonArchivalInProgress = "ArchivalInProgress"
	// ReasonDeleting means that the set is being deleted.
	ReasonDeleting = "Deleting"
)
