// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import "github.com/component-operator/runtime/pkg/inventory"

// The types of package inventory, under the engine's own name.
type (
	// TypeInfo is a type of objects, or a pattern of types. In a pattern, Group may be "*" (any group) or
	// "*.<suffix>" (one or more labels before the suffix), and Kind may be "*".
	TypeInfo = inventory.TypeInfo
	// TypeVersionInfo is a type of objects in one version, or a pattern of such; each field may be "*".
	TypeVersionInfo = inventory.TypeVersionInfo
	// NameInfo is the name of an object.
	NameInfo = inventory.NameInfo
	// Phase is where a dependent is in its life.
	Phase = inventory.Phase
	// InventoryItem records one dependent.
	InventoryItem = inventory.Item
	// AdoptionPolicy says what happens if an object to be created already exists.
	AdoptionPolicy = inventory.AdoptionPolicy
	// ReconcilePolicy says which changes cause an object to be applied again.
	ReconcilePolicy = inventory.ReconcilePolicy
	// UpdatePolicy says how an existing object is updated.
	UpdatePolicy = inventory.UpdatePolicy
	// DeletePolicy says what happens to an object that is removed from the manifests, or whose owner is deleted.
	DeletePolicy = inventory.DeletePolicy
	// MissingNamespacesPolicy says what happens if the namespace of an object does not exist and is not among the
	// objects.
	MissingNamespacesPolicy = inventory.MissingNamespacesPolicy
	// PrunePolicy says what happens to an object that would be deleted because its manifest is removed.
	PrunePolicy = inventory.PrunePolicy
	// PruneAt says when redundant objects are deleted.
	PruneAt = inventory.PruneAt
	// DriftPolicy says what happens if others change a dependent.
	DriftPolicy = inventory.DriftPolicy
	// DeleteOrder says in which wave an object without the delete-order annotation is deleted.
	DeleteOrder = inventory.DeleteOrder
	// MaxDeletions is how many redundant dependents may be deleted without approval: a number ("5"), a percentage of
	// the dependents ("25%", rounded down), or MaxDeletionsAllButOne. Empty means any number.
	MaxDeletions = inventory.MaxDeletions
	// Deletions limits how many redundant dependents are deleted. It does not concern the deletion of the owner,
	// dependents that are orphaned, or those that have served their purpose. The zero value is no limit.
	Deletions = inventory.Deletions
	// Unhealthy is a dependent that does its job in part, or not at all.
	Unhealthy = inventory.Unhealthy
	// HeldDeletions are dependents that are not deleted without approval.
	HeldDeletions = inventory.HeldDeletions
	// Policies apply to objects whose annotations do not say otherwise. An empty field defaults to the one of
	// Options.Policies, and that to the documented default.
	Policies = inventory.Policies
	// Verb says what was done to an object.
	Verb = inventory.Verb
	// Action says what was done to the objects of one wave.
	Action = inventory.Action
	// Notice says something about one object.
	Notice = inventory.Notice
	// Blocker is an object that does not belong to the owner, and forbids the deletion of its type.
	Blocker = inventory.Blocker
	// RefusedError says that objects cannot be accepted. The objects that it names were not written; if the objects
	// contradict each other, or an annotation is invalid, none was. Retrying is useless until the input, or the object
	// of the other owner, changes.
	RefusedError = inventory.RefusedError
	// FencedError ends a call because Owner.Fence or Owner.Confirm returned an error. Earlier requests of the call
	// stand.
	FencedError = inventory.FencedError
	// StaleError ends a call of Apply because it would do something else than planned. If that was clear from the
	// beginning, nothing was written; otherwise an object changed while the call was about to write it, and earlier
	// writes stand.
	//
	// An object counts as changed if it was created again, or if others changed or removed fields that we own (any
	// field, if we own none). Where field ownership is not tracked, its generation counts. A change of the status does
	// not count.
	StaleError = inventory.StaleError
	// Relation is what another owner of the same objects is to an owner.
	Relation = inventory.Relation
	// ObjectInfo is type and name of an object.
	ObjectInfo = inventory.ObjectInfo
	// Plan is what Apply would do with a request. It can be saved as JSON, without the content of objects.
	Plan = inventory.Plan
	// Change is what Apply would do about one object.
	Change = inventory.Change
	// FieldChange is a field that others have changed or removed.
	FieldChange = inventory.FieldChange
)

// The phases and policies; see package inventory.
const (
	PhaseScheduledForApplication             = inventory.PhaseScheduledForApplication
	PhaseScheduledForDeletion                = inventory.PhaseScheduledForDeletion
	PhaseScheduledForCompletion              = inventory.PhaseScheduledForCompletion
	PhaseCreating                            = inventory.PhaseCreating
	PhaseUpdating                            = inventory.PhaseUpdating
	PhaseDeleting                            = inventory.PhaseDeleting
	PhaseCompleting                          = inventory.PhaseCompleting
	PhaseReady                               = inventory.PhaseReady
	PhaseFailed                              = inventory.PhaseFailed
	PhaseKept                                = inventory.PhaseKept
	PhaseCompleted                           = inventory.PhaseCompleted
	AdoptionPolicyNever                      = inventory.AdoptionPolicyNever
	AdoptionPolicyIfUnowned                  = inventory.AdoptionPolicyIfUnowned
	AdoptionPolicyAlways                     = inventory.AdoptionPolicyAlways
	ReconcilePolicyOnObjectChange            = inventory.ReconcilePolicyOnObjectChange
	ReconcilePolicyOnObjectOrComponentChange = inventory.ReconcilePolicyOnObjectOrComponentChange
	ReconcilePolicyOnce                      = inventory.ReconcilePolicyOnce
	UpdatePolicyRecreate                     = inventory.UpdatePolicyRecreate
	UpdatePolicyReplace                      = inventory.UpdatePolicyReplace
	UpdatePolicySsaMerge                     = inventory.UpdatePolicySsaMerge
	UpdatePolicySsaOverride                  = inventory.UpdatePolicySsaOverride
	DeletePolicyDelete                       = inventory.DeletePolicyDelete
	DeletePolicyOrphan                       = inventory.DeletePolicyOrphan
	DeletePolicyOrphanOnApply                = inventory.DeletePolicyOrphanOnApply
	DeletePolicyOrphanOnDelete               = inventory.DeletePolicyOrphanOnDelete
	DeletePolicyConfirmOnDelete              = inventory.DeletePolicyConfirmOnDelete
	MissingNamespacesPolicyDoNotCreate       = inventory.MissingNamespacesPolicyDoNotCreate
	MissingNamespacesPolicyCreate            = inventory.MissingNamespacesPolicyCreate
	PrunePolicyDelete                        = inventory.PrunePolicyDelete
	PrunePolicyKeep                          = inventory.PrunePolicyKeep
	PrunePolicyConfirm                       = inventory.PrunePolicyConfirm
	PruneAtEnd                               = inventory.PruneAtEnd
	PruneAtWaves                             = inventory.PruneAtWaves
	DriftPolicyCorrect                       = inventory.DriftPolicyCorrect
	DriftPolicyReport                        = inventory.DriftPolicyReport
	DriftPolicyIgnore                        = inventory.DriftPolicyIgnore
	DeleteOrderExplicit                      = inventory.DeleteOrderExplicit
	DeleteOrderReversed                      = inventory.DeleteOrderReversed
	MaxDeletionsAllButOne                    = inventory.MaxDeletionsAllButOne
	RelationOlder                            = inventory.RelationOlder
	RelationNewer                            = inventory.RelationNewer
	VerbCreated                              = inventory.VerbCreated
	VerbAdopted                              = inventory.VerbAdopted
	VerbUpdated                              = inventory.VerbUpdated
	VerbCorrected                            = inventory.VerbCorrected
	VerbRestored                             = inventory.VerbRestored
	VerbDeleted                              = inventory.VerbDeleted
	VerbCompleted                            = inventory.VerbCompleted
	VerbOrphaned                             = inventory.VerbOrphaned
	ReasonMissing                            = inventory.ReasonMissing
	ReasonUnchanged                          = inventory.ReasonUnchanged
)
