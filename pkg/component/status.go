// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// +kubebuilder:object:generate=true

// Status is what the reconciler records about a component. The status of a component must be, or embed, a Status. Its
// schema accepts every value, because operators that are newer or older than the CustomResourceDefinition must be able
// to write.
//
// Tools must be able to tell a new component, which no operator has seen yet, from a ready one. So the field status of
// the component should have the marker
//
//	+kubebuilder:default={"observedGeneration":-1}
//
// For a useful output of kubectl get, the component should have the markers
//
//	+kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
//	+kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
//	+kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision`
//	+kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
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
	// Version of what is applied, such as that of a chart, when all dependents were ready last; empty if the generator has
	// no version.
	Version string `json:"version,omitempty"`
	// Conditions are Ready, Reconciling and Stalled.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Conditions []Condition `json:"conditions,omitempty"`
	// State summarizes the conditions in one word.
	State State `json:"state,omitempty"`
	// Inventory lists the dependents. It is empty if inventoryRecord has them in another form.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	Inventory []*reconciler.InventoryItem `json:"inventory,omitempty"`
	// InventoryRecord holds the inventory, or says where it is stored, if it is too large for a list. It also lists
	// kinds that could not be searched.
	InventoryRecord *InventoryRecord `json:"inventoryRecord,omitempty"`
	// DeletionHooks says where the objects are stored that are applied when the component is deleted.
	DeletionHooks *DeletionHooks `json:"deletionHooks,omitempty"`
	// Seed says from what the secrets of the component are generated, if the operator has the option GeneratedSecrets.
	Seed *Seed `json:"seed,omitempty"`
	// Rollout says which version of the operator the component has, if the operator limits how its versions are rolled
	// out.
	Rollout *RolloutStatus `json:"rollout,omitempty"`
	// Dependencies are the objects that the component depends on.
	Dependencies *DependencyStatus `json:"dependencies,omitempty"`
}

// State summarizes how far a component is.
type State string

const (
	// StateReady means that all dependents are as declared, and ready.
	StateReady State = "Ready"
	// StatePending means that the component waits for something outside: a reference, a hook, or the end of its
	// suspension.
	StatePending State = "Pending"
	// StateProcessing means that dependents are being applied, or are not ready yet.
	StateProcessing State = "Processing"
	// StateDeletionPending is StatePending of a component that is being deleted.
	StateDeletionPending State = "DeletionPending"
	// StateDeleting means that dependents are being deleted, or that the deletion is blocked.
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
	// ReadyConditionReasonNew means that the component is new, and nothing has been written to the cluster yet.
	ReadyConditionReasonNew = "FirstSeen"
	// ReadyConditionReasonRetrying means that a types.RetriableError is awaited.
	ReadyConditionReasonRetrying = "Retrying"
	// ReadyConditionReasonRestarting means that processing starts again because the declaration has changed.
	ReadyConditionReasonRestarting = "Restarting"
	// ReadyConditionReasonProcessing means that dependents are being applied, or are not ready yet.
	ReadyConditionReasonProcessing = "Processing"
	// ReadyConditionReasonReady means that all dependents are ready.
	ReadyConditionReasonReady = "Ready"
	// ReadyConditionReasonError means that something failed.
	ReadyConditionReasonError = "Error"
	// ReadyConditionReasonTimeout means that the component did not become ready in time.
	ReadyConditionReasonTimeout = "Timeout"
	// ReadyConditionReasonDeletionsHeld means that all dependents are ready, and that redundant ones may be deleted
	// only with approval: there are more than allowed, or their prune policy says so. They stay until a user approves
	// that.
	ReadyConditionReasonDeletionsHeld = "DeletionsHeld"
	// ReadyConditionReasonSuspended means that the component is suspended, or all dependents are that can be.
	ReadyConditionReasonSuspended = "Suspended"
	// ReadyConditionReasonPaused means that the component is paused.
	ReadyConditionReasonPaused = "Paused"
	// ReadyConditionReasonArchived means that the component is archived, and its dependents are gone.
	ReadyConditionReasonArchived = "Archived"
	// ReadyConditionReasonDeletionRetrying is ReadyConditionReasonRetrying of a component that is being deleted.
	ReadyConditionReasonDeletionRetrying = "DeletionRetrying"
	// ReadyConditionReasonDeletionBlocked means that the deletion does not begin: foreign objects or finalizers of
	// other controllers block it, or a user has to approve it.
	ReadyConditionReasonDeletionBlocked = "DeletionBlocked"
	// ReadyConditionReasonDeletionProcessing means that dependents are being deleted.
	ReadyConditionReasonDeletionProcessing = "DeletionProcessing"
)

// IsReady reports whether the component is ready in its observed generation.
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

// SetState sets the state, and all conditions accordingly. A transition time changes only with the status of its
// condition.
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

// fields returns the fields that record the inventory.
func (s *Status) fields() records.Fields {
	return records.Fields{
		Inventory: &s.Inventory, Record: &s.InventoryRecord, DeletionHooks: &s.DeletionHooks, Digest: &s.ProcessingDigest, ObservedGeneration: &s.ObservedGeneration,
	}
}

// statusFields are the names of the fields of Status.
var statusFields = func() []string {
	var names []string
	t := reflect.TypeFor[Status]()
	for i := range t.NumField() {
		names = append(names, jsonName(t.Field(i)))
	}
	return names
}()

// The words in which a status records dependents; see package inventory.
type (
	// InventoryRecord is an inventory in another form than that of a list: compressed, or in ConfigMaps, its chunks.
	InventoryRecord = inventory.Record
	// UnlistedKind is a kind, or all kinds of a group, whose objects could not be listed.
	UnlistedKind = inventory.UnlistedKind
	// CompletedDependent is a dependent that was purged.
	CompletedDependent = inventory.CompletedDependent
	// DeletionHooks refers to objects that are applied when the component is deleted.
	DeletionHooks = inventory.DeletionHooks
	// Seed refers to the seed from which the secrets of a component are generated.
	Seed = inventory.Seed
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

// verdict is what the status says about a component.
type verdict struct {
	state   State
	reason  string
	message string
	// retried means that the error may go away without a change by the user.
	retried bool
	// next is the delay until the next attempt after a failure; zero if that is not known, or if there is none.
	next time.Duration
}

// idle are the reasons of components that do not progress although they are Pending or Processing.
var idle = []string{
	ReadyConditionReasonSuspended, ReadyConditionReasonPaused, ReadyConditionReasonArchived, ReadyConditionReasonDeletionsHeld, ReadyConditionReasonTimeout,
}

// statuses returns the statuses of Ready, Reconciling and Stalled. An error that is being retried does not count as
// stalled until the timeout. A component that is suspended, paused or archived, or waits for an approval, is Pending,
// but does not progress.
func (v verdict) statuses() (ready, reconciling, stalled ConditionStatus) {
	switch v.state {
	case StateReady:
		return ConditionTrue, ConditionFalse, ConditionFalse
	case StateError:
		if !v.retried || v.reason == ReadyConditionReasonTimeout {
			return ConditionFalse, ConditionFalse, ConditionTrue
		}
		return ConditionFalse, ConditionTrue, ConditionFalse
	case StatePending, StateProcessing, StateDeletionPending, StateDeleting:
		if slices.Contains(idle, v.reason) {
			return ConditionUnknown, ConditionFalse, ConditionFalse
		}
		return ConditionUnknown, ConditionTrue, ConditionFalse
	default:
		return ConditionUnknown, ConditionUnknown, ConditionUnknown
	}
}

// healthCondition returns the type of the condition that the generator names for the health of the dependents; empty if
// it names none.
func (a *author) healthCondition() ConditionType {
	if conditioned, ok := a.generator.(generator.Conditioned); ok {
		return ConditionType(conditioned.Condition())
	}
	return ""
}

// checkCondition refuses a condition that the generator names and that cannot be, or that the reconciler has itself.
func (a *author) checkCondition() error {
	switch name := a.healthCondition(); name {
	case "":
		return nil
	case ConditionTypeReady, ConditionTypeReconciling, ConditionTypeStalled, ConditionTypeRolledOut:
		return fmt.Errorf("the generator names the condition %q, which the reconciler already has; must be a name other than %s, %s, %s and %s",
			name, ConditionTypeReady, ConditionTypeReconciling, ConditionTypeStalled, ConditionTypeRolledOut)
	default:
		if messages := validation.IsQualifiedName(string(name)); len(messages) > 0 {
			return fmt.Errorf("the generator names the condition %q: %s", name, strings.Join(messages, "; "))
		}
		return nil
	}
}

// change adds or changes a condition. Its transition time changes with its status.
func (s *Status) change(name ConditionType, status ConditionStatus, reason, message string, now metav1.Time) {
	condition := s.condition(name)
	if condition == nil {
		s.Conditions = append(s.Conditions, Condition{Type: name})
		condition = &s.Conditions[len(s.Conditions)-1]
	}
	if condition.Status != status || condition.LastTransitionTime == nil {
		condition.Status = status
		condition.LastTransitionTime = &now
	}
	condition.Reason, condition.Message, condition.ObservedGeneration = reason, message, max(s.ObservedGeneration, 0)
}

// SetCondition adds or changes a condition, for hooks. Its transition time changes with its status. The conditions
// Ready, Reconciling and Stalled are the reconciler's own: it sets them again.
func (s *Status) SetCondition(name ConditionType, status ConditionStatus, reason, message string, now metav1.Time) {
	s.change(name, status, reason, outcomes.Bound(message), now)
}

// GetCondition returns a copy of a condition, and reports whether there is one of that type.
func (s *Status) GetCondition(name ConditionType) (Condition, bool) {
	if condition := s.condition(name); condition != nil {
		return *condition, true
	}
	return Condition{}, false
}

// RemoveCondition removes a condition, if there is one of that type.
func (s *Status) RemoveCondition(name ConditionType) {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(condition Condition) bool { return condition.Type == name })
}
