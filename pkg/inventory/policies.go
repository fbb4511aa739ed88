// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import "time"

// AdoptionPolicy says what happens if an object to be created exists already.
type AdoptionPolicy string

const (
	// AdoptionPolicyNever refuses the object unless it is owned by the component already.
	AdoptionPolicyNever AdoptionPolicy = "Never"
	// AdoptionPolicyIfUnowned adopts the object if it has no owner, and refuses it otherwise.
	AdoptionPolicyIfUnowned AdoptionPolicy = "IfUnowned"
	// AdoptionPolicyAlways adopts the object, whoever owns it.
	AdoptionPolicyAlways AdoptionPolicy = "Always"
)

// ReconcilePolicy says which changes cause an object to be applied again.
type ReconcilePolicy string

const (
	// ReconcilePolicyOnObjectChange applies the object when its manifest changes.
	ReconcilePolicyOnObjectChange ReconcilePolicy = "OnObjectChange"
	// ReconcilePolicyOnObjectOrComponentChange applies the object when its manifest or the component changes.
	ReconcilePolicyOnObjectOrComponentChange ReconcilePolicy = "OnObjectOrComponentChange"
	// ReconcilePolicyOnce applies the object once and never touches its content again. Should the object
	// vanish, it is created again.
	ReconcilePolicyOnce ReconcilePolicy = "Once"
)

// UpdatePolicy says how an existing object is brought to its desired state.
type UpdatePolicy string

const (
	// UpdatePolicyRecreate deletes the object, waits until it is gone, and creates it.
	UpdatePolicyRecreate UpdatePolicy = "Recreate"
	// UpdatePolicyReplace applies the declared fields and removes what other field managers added.
	UpdatePolicyReplace UpdatePolicy = "Replace"
	// UpdatePolicySsaMerge applies the declared fields and leaves all others alone.
	UpdatePolicySsaMerge UpdatePolicy = "SsaMerge"
	// UpdatePolicySsaOverride applies the declared fields and removes what the field managers named by the option
	// ReclaimedFieldManagers of the reconciler added.
	UpdatePolicySsaOverride UpdatePolicy = "SsaOverride"
)

// DeletePolicy says what happens to an object that is removed from the manifests, or whose owner is deleted.
type DeletePolicy string

const (
	// DeletePolicyDelete deletes the object.
	DeletePolicyDelete DeletePolicy = "Delete"
	// DeletePolicyOrphan releases the object: marks of ownership are removed, the object stays.
	DeletePolicyOrphan DeletePolicy = "Orphan"
	// DeletePolicyOrphanOnApply releases the object if it vanishes from the manifests, and deletes it with the owner.
	DeletePolicyOrphanOnApply DeletePolicy = "OrphanOnApply"
	// DeletePolicyOrphanOnDelete releases the object with the owner, and deletes it if it vanishes from the manifests.
	DeletePolicyOrphanOnDelete DeletePolicy = "OrphanOnDelete"
)

// MissingNamespacesPolicy says what happens if an object lives in a namespace that does not exist and is not
// among the objects.
type MissingNamespacesPolicy string

const (
	// MissingNamespacesPolicyDoNotCreate leaves the namespace missing; the object waits for it.
	MissingNamespacesPolicyDoNotCreate MissingNamespacesPolicy = "DoNotCreate"
	// MissingNamespacesPolicyCreate creates the namespace. It is not recorded and never deleted.
	MissingNamespacesPolicyCreate MissingNamespacesPolicy = "Create"
)

// DriftPolicy says how changes that others make to a dependent are reacted upon.
type DriftPolicy string

const (
	// DriftPolicyCorrect reverts them.
	DriftPolicyCorrect DriftPolicy = "Correct"
	// DriftPolicyReport names them in the result and leaves them alone.
	DriftPolicyReport DriftPolicy = "Report"
	// DriftPolicyIgnore does not look for changes of the content. An object that was deleted is created again.
	DriftPolicyIgnore DriftPolicy = "Ignore"
)

// Policies are the values that apply to objects whose annotations do not say otherwise. A field that is empty
// defaults to the option Policies of the reconciler, and that to the documented default.
type Policies struct {
	// Adoption defaults to AdoptionPolicyIfUnowned.
	Adoption AdoptionPolicy `json:"adoption,omitempty"`
	// Reconcile defaults to ReconcilePolicyOnObjectChange.
	Reconcile ReconcilePolicy `json:"reconcile,omitempty"`
	// Update defaults to UpdatePolicyReplace.
	Update UpdatePolicy `json:"update,omitempty"`
	// Delete defaults to DeletePolicyDelete.
	Delete DeletePolicy `json:"delete,omitempty"`
	// Drift defaults to DriftPolicyCorrect.
	Drift DriftPolicy `json:"drift,omitempty"`
	// MissingNamespaces defaults to MissingNamespacesPolicyCreate.
	MissingNamespaces MissingNamespacesPolicy `json:"missingNamespaces,omitempty"`
	// ReapplyInterval defaults to 60 minutes. After it, an object of which it is not certain that nobody changed
	// it is applied again; an object of which it is certain costs nothing. It is also the longest pause between two corrections of
	// an object that others change again and again, unless it is less than 10 minutes. It must not be less than a second.
	ReapplyInterval time.Duration `json:"reapplyInterval,omitempty"`
}
