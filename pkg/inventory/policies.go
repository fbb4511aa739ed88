// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AdoptionPolicy says what happens if an object to be created already exists.
type AdoptionPolicy string

const (
	// AdoptionPolicyNever refuses the object unless it belongs to the owner already.
	AdoptionPolicyNever AdoptionPolicy = "Never"
	// AdoptionPolicyIfUnowned adopts the object if it has no owner, and refuses it otherwise.
	AdoptionPolicyIfUnowned AdoptionPolicy = "IfUnowned"
	// AdoptionPolicyAlways adopts the object, also if it has another owner.
	AdoptionPolicyAlways AdoptionPolicy = "Always"
)

// ReconcilePolicy says which changes cause an object to be applied again.
type ReconcilePolicy string

const (
	// ReconcilePolicyOnObjectChange applies the object when its manifest changes.
	ReconcilePolicyOnObjectChange ReconcilePolicy = "OnObjectChange"
	// ReconcilePolicyOnObjectOrComponentChange applies the object when its manifest or the component changes.
	ReconcilePolicyOnObjectOrComponentChange ReconcilePolicy = "OnObjectOrComponentChange"
	// ReconcilePolicyOnce applies the object once and never changes its content again. If the object is deleted, it is
	// created again.
	ReconcilePolicyOnce ReconcilePolicy = "Once"
)

// UpdatePolicy says how an existing object is updated.
type UpdatePolicy string

const (
	// UpdatePolicyRecreate deletes the object, waits until it is gone, and creates it.
	UpdatePolicyRecreate UpdatePolicy = "Recreate"
	// UpdatePolicyReplace applies the declared fields and removes fields that other field managers added.
	UpdatePolicyReplace UpdatePolicy = "Replace"
	// UpdatePolicySsaMerge applies the declared fields and leaves all others alone.
	UpdatePolicySsaMerge UpdatePolicy = "SsaMerge"
	// UpdatePolicySsaOverride applies the declared fields and removes fields that were added by the field managers in
	// the reconciler's option ReclaimedFieldManagers.
	UpdatePolicySsaOverride UpdatePolicy = "SsaOverride"
)

// DeletePolicy says what happens to an object that is removed from the manifests, or whose owner is deleted.
type DeletePolicy string

const (
	// DeletePolicyDelete deletes the object.
	DeletePolicyDelete DeletePolicy = "Delete"
	// DeletePolicyOrphan orphans the object: the marks of ownership are removed, the object stays.
	DeletePolicyOrphan DeletePolicy = "Orphan"
	// DeletePolicyOrphanOnApply orphans the object when its manifest is removed, and deletes it with the owner.
	DeletePolicyOrphanOnApply DeletePolicy = "OrphanOnApply"
	// DeletePolicyOrphanOnDelete orphans the object when the owner is deleted, and deletes it when its manifest is
	// removed.
	DeletePolicyOrphanOnDelete DeletePolicy = "OrphanOnDelete"
	// DeletePolicyConfirmOnDelete deletes the object when its manifest is removed. If the owner is deleted, nothing is
	// deleted before a user has approved the deletion of this object; see HeldDeletions.
	DeletePolicyConfirmOnDelete DeletePolicy = "ConfirmOnDelete"
)

// PrunePolicy says what happens to an object that would be deleted because its manifest is removed. The deletion of the
// owner is not concerned.
type PrunePolicy string

const (
	// PrunePolicyDelete deletes the object.
	PrunePolicyDelete PrunePolicy = "Delete"
	// PrunePolicyKeep leaves the object as it is. It remains a dependent, and goes with the owner.
	PrunePolicyKeep PrunePolicy = "Keep"
	// PrunePolicyConfirm deletes the object after a user has approved that; see HeldDeletions.
	PrunePolicyConfirm PrunePolicy = "Confirm"
)

// PruneAt says when redundant objects are deleted.
type PruneAt string

const (
	// PruneAtEnd deletes redundant objects after all others are ready.
	PruneAtEnd PruneAt = "End"
	// PruneAtWaves deletes redundant objects between the waves of the others: a wave is applied when the redundant
	// objects whose delete order is not greater than its apply order are gone.
	PruneAtWaves PruneAt = "Waves"
)

// MissingNamespacesPolicy says what happens if the namespace of an object does not exist and is not among the objects.
type MissingNamespacesPolicy string

const (
	// MissingNamespacesPolicyDoNotCreate does not create the namespace; the object waits for it.
	MissingNamespacesPolicyDoNotCreate MissingNamespacesPolicy = "DoNotCreate"
	// MissingNamespacesPolicyCreate creates the namespace. It does not become a dependent, and is never deleted.
	MissingNamespacesPolicyCreate MissingNamespacesPolicy = "Create"
)

// DriftPolicy says what happens if others change a dependent.
type DriftPolicy string

const (
	// DriftPolicyCorrect reverts the changes.
	DriftPolicyCorrect DriftPolicy = "Correct"
	// DriftPolicyReport reports the changes in the result, and does not revert them.
	DriftPolicyReport DriftPolicy = "Report"
	// DriftPolicyIgnore ignores changes of the content. An object that was deleted is created again.
	DriftPolicyIgnore DriftPolicy = "Ignore"
)

// DeleteOrder says in which wave an object without the delete-order annotation is deleted.
type DeleteOrder string

const (
	// DeleteOrderExplicit deletes the object in wave 0.
	DeleteOrderExplicit DeleteOrder = "Explicit"
	// DeleteOrderReversed deletes objects in the reverse of the order in which they are applied: the wave is the
	// negative apply order.
	DeleteOrderReversed DeleteOrder = "Reversed"
)

// Policies apply to objects whose annotations do not say otherwise. An empty field defaults to the one in the
// reconciler's option Policies, and that to the documented default.
type Policies struct {
	// Adoption defaults to AdoptionPolicyIfUnowned.
	Adoption AdoptionPolicy `json:"adoption,omitempty"`
	// Reconcile defaults to ReconcilePolicyOnObjectChange.
	Reconcile ReconcilePolicy `json:"reconcile,omitempty"`
	// Update defaults to UpdatePolicyReplace.
	Update UpdatePolicy `json:"update,omitempty"`
	// Delete defaults to DeletePolicyDelete.
	Delete DeletePolicy `json:"delete,omitempty"`
	// Prune defaults to PrunePolicyDelete.
	Prune PrunePolicy `json:"prune,omitempty"`
	// PruneAt defaults to PruneAtEnd.
	PruneAt PruneAt `json:"pruneAt,omitempty"`
	// Drift defaults to DriftPolicyCorrect.
	Drift DriftPolicy `json:"drift,omitempty"`
	// MissingNamespaces defaults to MissingNamespacesPolicyCreate.
	MissingNamespaces MissingNamespacesPolicy `json:"missingNamespaces,omitempty"`
	// DeleteOrder defaults to DeleteOrderExplicit.
	DeleteOrder DeleteOrder `json:"deleteOrder,omitempty"`
	// DeletePropagation says what happens to the objects that an object owns when it is deleted. Defaults to
	// Background. Namespaces, CustomResourceDefinitions and APIServices are always deleted so.
	DeletePropagation metav1.DeletionPropagation `json:"deletePropagation,omitempty"`
	// ReapplyInterval is how long an object that others may have changed unnoticed goes without being applied again;
	// objects that are known to be unchanged are not applied. It is also the longest pause, but 10 minutes at least,
	// between two corrections of an object that others change repeatedly. Defaults to 60 minutes; must be at least a
	// second.
	ReapplyInterval time.Duration `json:"reapplyInterval,omitempty"`
}
