// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// TypeInfo is a type of objects, or a pattern of types. In a pattern, Group may be "*" (any group) or
// "*.<suffix>" (one or more labels before the suffix), and Kind may be "*".
//
// +kubebuilder:object:generate=true
type TypeInfo struct {
	// API group; empty for the core group.
	// +kubebuilder:validation:Pattern=`^(\*|(\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	Group string `json:"group"`
	// API kind.
	// +kubebuilder:validation:Pattern=`^(\*|[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?)$`
	Kind string `json:"kind"`
}

// TypeVersionInfo is a type of objects in one version, or a pattern of such; each field may be "*".
//
// +kubebuilder:object:generate=true
type TypeVersionInfo struct {
	// API group; empty for the core group.
	// +optional
	Group string `json:"group"`
	// API group version.
	// +optional
	Version string `json:"version"`
	// API kind.
	// +optional
	Kind string `json:"kind"`
}

// NameInfo is the name of an object.
//
// +kubebuilder:object:generate=true
type NameInfo struct {
	// Namespace; empty for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	// Name.
	// +optional
	Name string `json:"name"`
}

// Phase is where a dependent is in its life.
type Phase string

const (
	// PhaseScheduledForApplication means that the manifest with the recorded digest was not applied yet.
	PhaseScheduledForApplication Phase = "ScheduledForApplication"
	// PhaseScheduledForDeletion means that the object is redundant, and its deletion was not requested yet.
	PhaseScheduledForDeletion Phase = "ScheduledForDeletion"
	// PhaseScheduledForCompletion means that the object has served its purpose, and its deletion was not requested yet.
	PhaseScheduledForCompletion Phase = "ScheduledForCompletion"
	// PhaseCreating means that the object was created, and is not ready yet.
	PhaseCreating Phase = "Creating"
	// PhaseUpdating means that the object was updated, and is not ready yet.
	PhaseUpdating Phase = "Updating"
	// PhaseDeleting means that deletion was requested, and the object still exists.
	PhaseDeleting Phase = "Deleting"
	// PhaseCompleting means that deletion after completion was requested, and the object still exists.
	PhaseCompleting Phase = "Completing"
	// PhaseReady means that the object has been ready since it was last written.
	PhaseReady Phase = "Ready"
	// PhaseFailed means that the object has failed, and was or is being deleted for that; the item stays.
	PhaseFailed Phase = "Failed"
	// PhaseKept means that the object is redundant, and is kept because of its prune policy.
	PhaseKept Phase = "Kept"
	// PhaseCompleted means that the object was purged; the item stays.
	PhaseCompleted Phase = "Completed"
)

// Item records one dependent.
// +kubebuilder:object:generate=true
type Item struct {
	// Type of the object.
	TypeVersionInfo `json:",inline"`
	// Name of the object.
	NameInfo `json:",inline"`
	// Adoption policy.
	// +optional
	AdoptionPolicy AdoptionPolicy `json:"adoptionPolicy"`
	// Reconcile policy.
	// +optional
	ReconcilePolicy ReconcilePolicy `json:"reconcilePolicy"`
	// Update policy.
	// +optional
	UpdatePolicy UpdatePolicy `json:"updatePolicy"`
	// Delete policy.
	// +optional
	DeletePolicy DeletePolicy `json:"deletePolicy"`
	// Apply order.
	// +optional
	ApplyOrder int `json:"applyOrder"`
	// Delete order.
	// +optional
	DeleteOrder int `json:"deleteOrder"`
	// The propagation policy of its deletion; empty for Background.
	DeletePropagation metav1.DeletionPropagation `json:"deletePropagation,omitempty"`
	// The policy for the object when its manifest is removed; empty if the owner decides.
	PrunePolicy PrunePolicy `json:"prunePolicy,omitempty"`
	// Types that this object defines, as a CustomResourceDefinition or APIService.
	// +kubebuilder:validation:MaxItems=1000
	ManagedTypes []TypeVersionInfo `json:"managedTypes,omitempty"`
	// Digest of the manifest; empty if the manifest was removed.
	// +optional
	Digest string `json:"digest"`
	// Phase of the object.
	Phase Phase `json:"phase,omitempty"`
	// Status of the object when it was last observed.
	Status status.Status `json:"status,omitempty"`
	// Time of the last write that has changed the object.
	LastAppliedAt *metav1.Time `json:"lastAppliedAt,omitempty"`
	// UID of the object at the last write.
	UID apitypes.UID `json:"uid,omitempty"`
	// Hash of the fields that the operator owned in the object at the last write.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Generation of the object at the last write or check; for kinds without generations, "rv" and the resource
	// version.
	Baseline string `json:"baseline,omitempty"`
	// Name of the ValidatingAdmissionPolicy that denies new instances of the type that this object defines, while this
	// object is being deleted.
	Barrier string `json:"barrier,omitempty"`
	// Whether the object existed before and was adopted. Recorded only for owners that ask for it.
	Adopted bool `json:"adopted,omitempty"`
	// Whether a user has approved the deletion of the object, which is redundant.
	DeletionApproved bool `json:"deletionApproved,omitempty"`
	// ID of the newer owner that the object was handed over to; empty if it was not.
	Holder string `json:"holder,omitempty"`
}

var _ types.ObjectKey = &Item{}

// GetObjectKind returns the item itself.
func (i *Item) GetObjectKind() schema.ObjectKind {
	return i
}

// GroupVersionKind returns the type of the object.
func (i Item) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind(i.TypeVersionInfo)
}

// SetGroupVersionKind changes the recorded type.
func (i *Item) SetGroupVersionKind(gvk schema.GroupVersionKind) {
	i.TypeVersionInfo = TypeVersionInfo(gvk)
}

// GetNamespace returns the namespace of the object.
func (i Item) GetNamespace() string {
	return i.Namespace
}

// GetName returns the name of the object.
func (i Item) GetName() string {
	return i.Name
}

// Matches reports whether the key identifies the same object, in any version.
func (i Item) Matches(key types.ObjectKey) bool {
	return i.GroupVersionKind().GroupKind() == key.GetObjectKind().GroupVersionKind().GroupKind() && i.Namespace == key.GetNamespace() && i.Name == key.GetName()
}

// String returns type and name.
func (i Item) String() string {
	return types.ObjectKeyToString(&i)
}

// Info returns type and name.
func (i Item) Info() ObjectInfo {
	return ObjectInfo{TypeVersionInfo: i.TypeVersionInfo, NameInfo: i.NameInfo}
}

// ObjectInfo is type and name of an object.
type ObjectInfo struct {
	TypeVersionInfo `json:",inline"`
	NameInfo        `json:",inline"`
}

var _ types.ObjectKey = ObjectInfo{}

// GetObjectKind returns the type; changes made through it do not affect the object.
func (o ObjectInfo) GetObjectKind() schema.ObjectKind {
	return types.TypeKeyFromGroupVersionKind(schema.GroupVersionKind(o.TypeVersionInfo)).GetObjectKind()
}

// GetNamespace returns the namespace; empty for cluster-scoped objects.
func (o ObjectInfo) GetNamespace() string { return o.Namespace }

// GetName returns the name.
func (o ObjectInfo) GetName() string { return o.Name }

// String formats type and name as messages name objects, for example "Deployment default/web".
func (o ObjectInfo) String() string {
	return types.ObjectText(schema.GroupKind{Group: o.Group, Kind: o.Kind}, o.Namespace, o.Name)
}

// Relation is what another owner of the same objects is to an owner.
type Relation string

const (
	// RelationOlder means that the objects of the other owner are adopted, whatever their adoption policies say. The
	// owner label changes in one write, so that an object always has an owner.
	RelationOlder Relation = "Older"
	// RelationNewer means that the other owner keeps the objects that it has: they are neither written nor deleted.
	// Their status counts, as the other owner judges it. See Item.Holder.
	RelationNewer Relation = "Newer"
)
