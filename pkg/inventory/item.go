// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"slices"

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

// Store keeps an inventory.
type Store interface {
	// Save persists the inventory. Once it has returned nil, the next call of Apply or Delete must be given this
	// inventory or a later one, even in another process. An error ends the current call.
	Save(ctx context.Context, inventory []*Item) error
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

// +kubebuilder:object:generate=true

// Record is an inventory that is too large for a plain list in the status: compressed, or stored in ConfigMaps
// (chunks).
type Record struct {
	// Inline means that status.inventory has the inventory, and this record does not. Chunks may still exist: some are
	// about to be used, or to be removed.
	Inline bool `json:"inline,omitempty"`
	// Content is the list as JSON, compressed with gzip; empty if it is stored in chunks.
	Content []byte `json:"content,omitempty"`
	// Namespace of the chunks.
	Namespace string `json:"namespace,omitempty"`
	// Chunks are the names of ConfigMaps, each of which holds some items.
	// +listType=atomic
	Chunks []string `json:"chunks,omitempty"`
	// Checksum is the hexadecimal SHA-256 of the decompressed content, or of the decompressed contents of all chunks in
	// their order.
	Checksum string `json:"checksum,omitempty"`
	// Items is the number of items.
	Items int `json:"items,omitempty"`
	// Kinds are the types of all items.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	Kinds []TypeVersionInfo `json:"kinds,omitempty"`
	// Completed lists up to 100 purged dependents. Their objects no longer exist, so the chunks could not be rebuilt
	// without this list.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Completed []CompletedDependent `json:"completed,omitempty"`
	// Unlisted are kinds that could not be listed when the inventory was rebuilt. There may be unrecorded dependents of
	// these kinds.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	Unlisted []UnlistedKind `json:"unlisted,omitempty"`
}

// +kubebuilder:object:generate=true

// UnlistedKind is a kind, or all kinds of a group, that could not be listed.
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
	TypeVersionInfo `json:",inline"`
	NameInfo        `json:",inline"`
	// Digest of the manifest that was applied.
	// +optional
	Digest string `json:"digest"`
}

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

// +kubebuilder:object:generate=true

// Seed refers to the seed from which the secrets of a component are generated. It is stored in a Secret beside the
// component.
type Seed struct {
	// Secret is the name of the Secret.
	// +optional
	Secret string `json:"secret"`
	// Checksum is the hexadecimal SHA-256 of the seed, which cannot be guessed; "lost" if it is not known which seed the
	// component had. If a user empties it, the seed in the Secret is accepted, or a new one is made.
	// +optional
	Checksum string `json:"checksum"`
	// RenewedAt is when certificates were renewed last; unset before the first time.
	RenewedAt *metav1.Time `json:"renewedAt,omitempty"`
	// Kept means that the seed stays when the component is deleted, because dependents stay.
	Kept bool `json:"kept,omitempty"`
	// RenewAt is when the next certificate has to be renewed; unset if there is none.
	RenewAt *metav1.Time `json:"renewAt,omitempty"`
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

// Blocker is an object that does not belong to the owner, and forbids the deletion of its type.
type Blocker struct {
	// Type is the managed type.
	Type schema.GroupVersionKind
	// Namespace and Name are those of one instance; there may be more. Both are empty if the client may not list the
	// type.
	Namespace, Name string
}

// String names the type and the instance.
func (b Blocker) String() string {
	if b.Name == "" {
		return b.Type.GroupKind().String() + " (there are some, but no permission to list them)"
	}
	return types.ObjectText(b.Type.GroupKind(), b.Namespace, b.Name)
}
