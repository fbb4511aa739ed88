// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/probes"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
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

// ObjectSetSpec is the desired state of an ObjectSet.
type ObjectSetSpec struct {
	SetSpec `json:",inline"`
	// ServiceAccountName is the name of a ServiceAccount in the namespace of the set. Objects are read and written with
	// its permissions. Without it, they are with those of the operator, and must be in the namespace of the set.
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serviceAccountName cannot be changed; create another set"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// ObjectSet has objects in phases. Without a service account, they are all in the namespace of the set.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=oset,categories=components
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].reason`
// +kubebuilder:printcolumn:name=Lifecycle,type=string,JSONPath=`.spec.lifecycleState`
// +kubebuilder:printcolumn:name=Revision,type=integer,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name=Succeeded,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Available")].message`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ObjectSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ObjectSetSpec `json:"spec"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status SetStatus `json:"status,omitempty"`
}

// ObjectSetList is a list of ObjectSets.
//
// +kubebuilder:object:root=true
type ObjectSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ObjectSet `json:"items"`
}

// ClusterObjectSetSpec is the desired state of a ClusterObjectSet.
type ClusterObjectSetSpec struct {
	SetSpec `json:",inline"`
}

// ClusterObjectSet has objects in phases, in any namespace or none. A namespaced object must name its namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=coset,categories=components
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].reason`
// +kubebuilder:printcolumn:name=Lifecycle,type=string,JSONPath=`.spec.lifecycleState`
// +kubebuilder:printcolumn:name=Revision,type=integer,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name=Succeeded,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Available")].message`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterObjectSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterObjectSetSpec `json:"spec"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status SetStatus `json:"status,omitempty"`
}

// ClusterObjectSetList is a list of ClusterObjectSets.
//
// +kubebuilder:object:root=true
type ClusterObjectSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterObjectSet `json:"items"`
}

// Set is an ObjectSet or a ClusterObjectSet.
//
// +kubebuilder:object:generate=false
type Set interface {
	component.Component
	// GetSetSpec returns a pointer to what the specs of both kinds have in common.
	GetSetSpec() *SetSpec
	// GetSetStatus returns a pointer to the status.
	GetSetStatus() *SetStatus
}

var (
	_ Set                                  = &ObjectSet{}
	_ Set                                  = &ClusterObjectSet{}
	_ component.PresenceConfiguration      = &SetSpec{}
	_ component.TimeoutConfiguration       = &SetSpec{}
	_ component.JudgeConfiguration         = &SetSpec{}
	_ component.PolicyConfiguration        = &SetSpec{}
	_ component.ImpersonationConfiguration = &ObjectSetSpec{}
)

// GetSpec returns the spec.
func (s *ObjectSet) GetSpec() types.Unstructurable { return &s.Spec }

// GetStatus returns what the reconciler records.
func (s *ObjectSet) GetStatus() *component.Status { return &s.Status.Status }

// GetSetSpec returns a pointer to the spec, without what only ObjectSets have.
func (s *ObjectSet) GetSetSpec() *SetSpec { return &s.Spec.SetSpec }

// GetSetStatus returns a pointer to the status.
func (s *ObjectSet) GetSetStatus() *SetStatus { return &s.Status }

// GetSpec returns the spec.
func (s *ClusterObjectSet) GetSpec() types.Unstructurable { return &s.Spec }

// GetStatus returns what the reconciler records.
func (s *ClusterObjectSet) GetStatus() *component.Status { return &s.Status.Status }

// GetSetSpec returns a pointer to the spec.
func (s *ClusterObjectSet) GetSetSpec() *SetSpec { return &s.Spec.SetSpec }

// GetSetStatus returns a pointer to the status.
func (s *ClusterObjectSet) GetSetStatus() *SetStatus { return &s.Status }

// GetImpersonationUser implements component.ImpersonationConfiguration.
func (s *ObjectSetSpec) GetImpersonationUser() string {
	return (&component.ImpersonationSpec{ServiceAccountName: s.ServiceAccountName}).GetImpersonationUser()
}

// GetImpersonationGroups implements component.ImpersonationConfiguration.
func (s *ObjectSetSpec) GetImpersonationGroups() []string { return nil }

// ToUnstructured returns the spec as JSON has it.
func (s *ObjectSetSpec) ToUnstructured() map[string]any { return unstructured(s) }

// ToUnstructured returns the spec as JSON has it.
func (s *ClusterObjectSetSpec) ToUnstructured() map[string]any { return unstructured(s) }

// unstructured converts a spec. One that cannot be converted, because an object is no JSON, is refused when its objects
// are read.
func unstructured(spec any) map[string]any {
	converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return map[string]any{"invalid": err.Error()}
	}
	return converted
}

// GetPresence implements component.PresenceConfiguration.
func (s *SetSpec) GetPresence() component.Presence {
	if s.LifecycleState == "" {
		return component.PresenceActive
	}
	return component.Presence(s.LifecycleState)
}

// GetTimeout implements component.TimeoutConfiguration.
func (s *SetSpec) GetTimeout() time.Duration {
	return time.Duration(s.ProgressDeadlineSeconds) * time.Second
}

// GetJudge implements component.JudgeConfiguration: objects are judged by the probes alone.
func (s *SetSpec) GetJudge() (status.Judge, error) {
	judge, err := probes.New(s.AvailabilityProbes, nil)
	if err != nil {
		if field, ok := strings.CutPrefix(err.Error(), "probes["); ok {
			return nil, errors.New("spec.availabilityProbes[" + field)
		}
		return nil, err
	}
	return judge, nil
}

// GetAdoptionPolicy implements component.PolicyConfiguration.
func (s *SetSpec) GetAdoptionPolicy() reconciler.AdoptionPolicy {
	return s.CollisionProtection.AdoptionPolicy()
}

// GetUpdatePolicy implements component.PolicyConfiguration: fields that the set does not declare belong to others.
func (s *SetSpec) GetUpdatePolicy() reconciler.UpdatePolicy { return reconciler.UpdatePolicySsaMerge }

// GetDeletePolicy implements component.PolicyConfiguration.
func (s *SetSpec) GetDeletePolicy() reconciler.DeletePolicy { return "" }

// GetMissingNamespacesPolicy implements component.PolicyConfiguration: a namespace that is missing is not created.
func (s *SetSpec) GetMissingNamespacesPolicy() reconciler.MissingNamespacesPolicy {
	return reconciler.MissingNamespacesPolicyDoNotCreate
}

// AdoptionPolicy returns the policy in the terms of the runtime. The zero value is Prevent.
func (p CollisionProtection) AdoptionPolicy() reconciler.AdoptionPolicy {
	switch p {
	case CollisionProtectionIfNoController:
		return reconciler.AdoptionPolicyIfUnowned
	case CollisionProtectionNone:
		return reconciler.AdoptionPolicyAlways
	case CollisionProtectionPrevent:
	}
	return reconciler.AdoptionPolicyNever
}

// AnnotationChangeCause is an annotation with a text that says why something was changed. It is copied from a
// deployment to its newest set. Other tools know it as well.
const AnnotationChangeCause = "kubernetes.io/change-cause"

// AnnotationTemplateDigest is an annotation of sets that a deployment has made: the digest of the template at that
// time. If the API server stores a set that is different from the template, because somebody has a webhook for sets, it
// is the set of that template nevertheless.
const AnnotationTemplateDigest = "core.component-operator.dev/template-digest"

// DeploymentSpec is what the specs of ObjectDeployments and ClusterObjectDeployments have in common.
type DeploymentSpec struct {
	// Paused stops the rollout: no set is created, changed or deleted, except that all sets which are not archived are
	// paused as well. Defaults to false.
	Paused bool `json:"paused,omitempty"`
	// RevisionHistoryLimit is how many archived sets are kept. Defaults to 10.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// ProgressDeadlineSeconds is how long a set may take to become available before it is reported as stalled. Defaults
	// to 600.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	ProgressDeadlineSeconds int32 `json:"progressDeadlineSeconds,omitempty"`
	// Selector must match the labels of the template. It selects nothing: the sets of the deployment have the label
	// core.component-operator.dev/revisions-of. Defaults to none.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// RollbackTo has the spec of an earlier set copied to the template. The same write removes this field. Defaults to
	// none.
	RollbackTo *RollbackTarget `json:"rollbackTo,omitempty"`
}

// RollbackTarget names an earlier set.
type RollbackTarget struct {
	// Revision of the set. Defaults to 0: the latest set before the current one that has succeeded.
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`
}

// TemplateMetadata is metadata for sets. It is used when a set is created: a change does not concern existing sets.
type TemplateMetadata struct {
	// Labels of the set. Defaults to none.
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="!('core.component-operator.dev/revisions-of' in self)",message="core.component-operator.dev/revisions-of names the deployment"
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the set. Defaults to none.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ObjectSetTemplate describes the ObjectSets of a deployment.
type ObjectSetTemplate struct {
	// Metadata of the sets. Defaults to none.
	Metadata TemplateMetadata `json:"metadata,omitempty"`
	// Spec of the sets. A change leads to another set.
	Spec ObjectSetTemplateSpec `json:"spec"`
}

// ObjectSetTemplateSpec is the part of the spec of an ObjectSet that a deployment does not decide about.
type ObjectSetTemplateSpec struct {
	SetContent `json:",inline"`
	// ServiceAccountName is the name of a ServiceAccount in the namespace of the deployment. Objects are read and
	// written with its permissions. Without it, they are with those of the operator, and must be in the namespace of
	// the deployment.
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// ObjectDeploymentSpec is the desired state of an ObjectDeployment.
type ObjectDeploymentSpec struct {
	DeploymentSpec `json:",inline"`
	// Template of the sets.
	Template ObjectSetTemplate `json:"template"`
}

// ObjectDeployment rolls out ObjectSets: each change of its template makes a new set, which adopts the objects of the
// earlier ones phase by phase. The earlier ones are archived when it has succeeded.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=odeploy,categories=components
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name may have 63 characters: it becomes the value of a label"
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name=Progressing,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`
// +kubebuilder:printcolumn:name=Revision,type=integer,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name=Set,type=string,priority=1,JSONPath=`.status.setName`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Progressing")].message`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ObjectDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ObjectDeploymentSpec `json:"spec"`
	Status DeploymentStatus     `json:"status,omitempty"`
}

// ObjectDeploymentList is a list of ObjectDeployments.
//
// +kubebuilder:object:root=true
type ObjectDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ObjectDeployment `json:"items"`
}

// ClusterObjectSetTemplate describes the ClusterObjectSets of a deployment.
type ClusterObjectSetTemplate struct {
	// Metadata of the sets. Defaults to none.
	Metadata TemplateMetadata `json:"metadata,omitempty"`
	// Spec of the sets. A change leads to another set.
	Spec SetContent `json:"spec"`
}

// ClusterObjectDeploymentSpec is the desired state of a ClusterObjectDeployment.
type ClusterObjectDeploymentSpec struct {
	DeploymentSpec `json:",inline"`
	// Template of the sets.
	Template ClusterObjectSetTemplate `json:"template"`
}

// ClusterObjectDeployment rolls out ClusterObjectSets, as an ObjectDeployment rolls out ObjectSets.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=codeploy,categories=components
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name may have 63 characters: it becomes the value of a label"
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name=Progressing,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
// +kubebuilder:printcolumn:name=Reason,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`
// +kubebuilder:printcolumn:name=Revision,type=integer,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name=Set,type=string,priority=1,JSONPath=`.status.setName`
// +kubebuilder:printcolumn:name=Message,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Progressing")].message`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterObjectDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterObjectDeploymentSpec `json:"spec"`
	Status DeploymentStatus            `json:"status,omitempty"`
}

// ClusterObjectDeploymentList is a list of ClusterObjectDeployments.
//
// +kubebuilder:object:root=true
type ClusterObjectDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterObjectDeployment `json:"items"`
}

// DeploymentStatus is the status of a deployment.
type DeploymentStatus struct {
	// ObservedGeneration is the generation of the deployment that the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Revision is the highest that a set of the deployment has had.
	Revision int64 `json:"revision,omitempty"`
	// SetName is the name of the newest set; empty if there is none.
	SetName string `json:"setName,omitempty"`
	// Conditions are Available, Progressing, Paused, Ready and Stalled.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Types of the conditions of a deployment.
const (
	// DeploymentAvailable is True if the newest set is available, or an earlier one still is.
	DeploymentAvailable = "Available"
	// DeploymentProgressing is True until the newest set has succeeded and the earlier ones are archived.
	DeploymentProgressing = "Progressing"
	// DeploymentPaused is True while the deployment is paused, and is missing otherwise.
	DeploymentPaused = "Paused"
	// DeploymentReady is True if the newest set is available and nothing is left to do. It is for tools that know this
	// condition from other objects.
	DeploymentReady = "Ready"
	// DeploymentStalled is True if nothing goes on without a change by somebody. It is for tools that know this
	// condition from other objects.
	DeploymentStalled = "Stalled"
)

// Reasons of the conditions of a deployment. The reasons of sets are among them.
const (
	// ReasonPreviousAvailable means that the newest set is not available, and an earlier one still is.
	ReasonPreviousAvailable = "PreviousRevisionAvailable"
	// ReasonSetUnavailable means that no set is available.
	ReasonSetUnavailable = "ObjectSetUnavailable"
	// ReasonPendingSuccess means that the newest set is available, and has not succeeded yet.
	ReasonPendingSuccess = "PendingSuccess"
	// ReasonArchiving means that the newest set has succeeded, and earlier ones are being archived.
	ReasonArchiving = "Archiving"
	// ReasonRollbackRefused means that spec.rollbackTo names no set to roll back to.
	ReasonRollbackRefused = "RollbackRefused"
	// ReasonWriteRefused means that the API server refuses a write.
	ReasonWriteRefused = "WriteRefused"
	// ReasonRetrying means that a write has failed and is repeated.
	ReasonRetrying = "Retrying"
)

// Deployment is an ObjectDeployment or a ClusterObjectDeployment.
//
// +kubebuilder:object:generate=false
type Deployment interface {
	client.Object
	// GetDeploymentSpec returns a pointer to what the specs of both kinds have in common.
	GetDeploymentSpec() *DeploymentSpec
	// GetDeploymentStatus returns a pointer to the status.
	GetDeploymentStatus() *DeploymentStatus
	// NewSet returns a set that is made from the template, without a name and revision.
	NewSet() Set
	// Makes reports whether the template makes a set with the spec of the given one. Whether that is paused or
	// archived, its revision and its metadata do not matter.
	Makes(set Set) bool
	// TemplateSpec returns the spec of the template, TemplateSpecOf that of a template that makes a set with the spec
	// of the given one.
	TemplateSpec() any
	TemplateSpecOf(set Set) any
}

var (
	_ Deployment = &ObjectDeployment{}
	_ Deployment = &ClusterObjectDeployment{}
)

// GetDeploymentSpec returns a pointer to the spec, without the template.
func (d *ObjectDeployment) GetDeploymentSpec() *DeploymentSpec { return &d.Spec.DeploymentSpec }

// GetDeploymentStatus returns a pointer to the status.
func (d *ObjectDeployment) GetDeploymentStatus() *DeploymentStatus { return &d.Status }

// NewSet implements Deployment.
func (d *ObjectDeployment) NewSet() Set {
	set, template := &ObjectSet{}, d.Spec.Template.DeepCopy()
	set.Namespace = d.Namespace
	set.Labels, set.Annotations = template.Metadata.Labels, template.Metadata.Annotations
	set.Spec.SetContent, set.Spec.ServiceAccountName = template.Spec.SetContent, template.Spec.ServiceAccountName
	return set
}

// Makes implements Deployment.
func (d *ObjectDeployment) Makes(set Set) bool {
	objectSet, ok := set.(*ObjectSet)
	return ok && objectSet.Spec.ServiceAccountName == d.Spec.Template.Spec.ServiceAccountName && d.Spec.Template.Spec.equal(&objectSet.Spec.SetContent)
}

// TemplateSpec implements Deployment.
func (d *ObjectDeployment) TemplateSpec() any { return d.Spec.Template.Spec }

// TemplateSpecOf implements Deployment.
func (d *ObjectDeployment) TemplateSpecOf(set Set) any {
	spec := ObjectSetTemplateSpec{SetContent: set.GetSetSpec().SetContent}
	if objectSet, ok := set.(*ObjectSet); ok {
		spec.ServiceAccountName = objectSet.Spec.ServiceAccountName
	}
	return spec
}

// GetDeploymentSpec returns a pointer to the spec, without the template.
func (d *ClusterObjectDeployment) GetDeploymentSpec() *DeploymentSpec { return &d.Spec.DeploymentSpec }

// GetDeploymentStatus returns a pointer to the status.
func (d *ClusterObjectDeployment) GetDeploymentStatus() *DeploymentStatus { return &d.Status }

// NewSet implements Deployment.
func (d *ClusterObjectDeployment) NewSet() Set {
	set, template := &ClusterObjectSet{}, d.Spec.Template.DeepCopy()
	set.Labels, set.Annotations = template.Metadata.Labels, template.Metadata.Annotations
	set.Spec.SetContent = template.Spec
	return set
}

// Makes implements Deployment.
func (d *ClusterObjectDeployment) Makes(set Set) bool {
	objectSet, ok := set.(*ClusterObjectSet)
	return ok && d.Spec.Template.Spec.equal(&objectSet.Spec.SetContent)
}

// TemplateSpec implements Deployment.
func (d *ClusterObjectDeployment) TemplateSpec() any { return d.Spec.Template.Spec }

// TemplateSpecOf implements Deployment.
func (d *ClusterObjectDeployment) TemplateSpecOf(set Set) any { return set.GetSetSpec().SetContent }

// TemplateDigest returns a digest of the spec of the template; empty if it cannot be encoded.
func TemplateDigest(deployment Deployment) string {
	encoded, err := json.Marshal(deployment.TemplateSpec())
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16])
}

// equal reports whether two contents are the same. Manifests are compared as values: how they are written does not
// matter.
func (c *SetContent) equal(other *SetContent) bool {
	return c.CollisionProtection == other.CollisionProtection && c.SuccessDelaySeconds == other.SuccessDelaySeconds &&
		equality.Semantic.DeepEqual(c.AvailabilityProbes, other.AvailabilityProbes) &&
		slices.EqualFunc(c.Phases, other.Phases, func(a, b Phase) bool {
			return a.Name == b.Name && slices.EqualFunc(a.Objects, b.Objects, func(a, b Object) bool {
				return a.CollisionProtection == b.CollisionProtection && equalManifests(a.Object, b.Object)
			})
		})
}

// equalManifests reports whether two manifests have the same value. The API server writes equal ones equally, so values
// are seldom needed.
func equalManifests(a, b runtime.RawExtension) bool {
	if bytes.Equal(a.Raw, b.Raw) {
		return true
	}
	var first, second map[string]any
	return json.Unmarshal(a.Raw, &first) == nil && json.Unmarshal(b.Raw, &second) == nil && equality.Semantic.DeepEqual(first, second)
}
