// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"slices"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/types"
)

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
	// UpdatePolicySsaOverride applies the declared fields and removes what the field managers named by
	// Options.ReclaimedFieldManagers added.
	UpdatePolicySsaOverride UpdatePolicy = "SsaOverride"
)

// DeletePolicy says what happens to an object that is no longer wanted.
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

// parsePolicy reads a policy, given by the suffix of its annotation. It yields "" for the deprecated value "default".
func parsePolicy[P ~string](suffix string, text string) (P, error) {
	value, err := annotations.Policy(suffix, text)
	return P(annotations.Camel(value)), err
}

func parseAdoptionPolicy(text string) (AdoptionPolicy, error) {
	return parsePolicy[AdoptionPolicy](types.AnnotationKeySuffixAdoptionPolicy, text)
}

func parseReconcilePolicy(text string) (ReconcilePolicy, error) {
	return parsePolicy[ReconcilePolicy](types.AnnotationKeySuffixReconcilePolicy, text)
}

func parseUpdatePolicy(text string) (UpdatePolicy, error) {
	return parsePolicy[UpdatePolicy](types.AnnotationKeySuffixUpdatePolicy, text)
}

func parseDeletePolicy(text string) (DeletePolicy, error) {
	return parsePolicy[DeletePolicy](types.AnnotationKeySuffixDeletePolicy, text)
}

func parseDriftPolicy(text string) (DriftPolicy, error) {
	return parsePolicy[DriftPolicy](types.AnnotationKeySuffixDriftPolicy, text)
}

// parseMissingNamespacesPolicy reads what only owners can say: there is no annotation for it.
func parseMissingNamespacesPolicy(text string) (MissingNamespacesPolicy, error) {
	value, err := annotations.OneOf(text,
		annotations.Kebab(string(MissingNamespacesPolicyDoNotCreate)), annotations.Kebab(string(MissingNamespacesPolicyCreate)))
	return MissingNamespacesPolicy(annotations.Camel(value)), err
}

// final returns what a policy comes to when an object is no longer wanted: DeletePolicyOrphan or DeletePolicyDelete. It is recorded, because the
// owner may be deleted, or not any more, before the object is gone.
func (p DeletePolicy) final(orphaned func(DeletePolicy) bool) DeletePolicy {
	if orphaned(p) {
		return DeletePolicyOrphan
	}
	return DeletePolicyDelete
}

// or returns the policy that releases an object where one of the two does.
func (p DeletePolicy) or(other DeletePolicy) DeletePolicy {
	onApply, onDelete := p.orphanedOnApply() || other.orphanedOnApply(), p.orphanedOnDelete() || other.orphanedOnDelete()
	switch {
	case onApply && onDelete:
		return DeletePolicyOrphan
	case onApply:
		return DeletePolicyOrphanOnApply
	case onDelete:
		return DeletePolicyOrphanOnDelete
	default:
		return DeletePolicyDelete
	}
}

// orphanedOnApply tells whether an object that vanished from the manifests is released instead of deleted.
func (p DeletePolicy) orphanedOnApply() bool {
	return slices.Contains([]DeletePolicy{DeletePolicyOrphan, DeletePolicyOrphanOnApply}, p)
}

// orphanedOnDelete tells whether an object is released instead of deleted when its owner goes.
func (p DeletePolicy) orphanedOnDelete() bool {
	return slices.Contains([]DeletePolicy{DeletePolicyOrphan, DeletePolicyOrphanOnDelete}, p)
}
