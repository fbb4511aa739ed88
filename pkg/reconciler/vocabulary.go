// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import "github.com/component-operator/runtime/pkg/inventory"

// The words in which dependents are recorded; see package inventory.
type (
	// TypeInfo is a type of objects, or a pattern of types. In a pattern, Group may be "*" (any group) or
	// "*.<suffix>" (one or more labels before the suffix), and Kind may be "*".
	TypeInfo = inventory.TypeInfo
	// TypeVersionInfo is a type of objects in one version, or a pattern of such; each field may be "*".
	TypeVersionInfo = inventory.TypeVersionInfo
	// NameInfo is the name of an object.
	NameInfo = inventory.NameInfo
	// Phase is the state of a dependent in its life. Definitions do not list the values: what a later version records must
	// not be refused.
	Phase = inventory.Phase
	// InventoryItem records one dependent. It is part of statuses, which must never be refused: no field is required, and no
	// value is restricted.
	InventoryItem = inventory.Item
	// AdoptionPolicy says what happens if an object to be created exists already.
	AdoptionPolicy = inventory.AdoptionPolicy
	// ReconcilePolicy says which changes cause an object to be applied again.
	ReconcilePolicy = inventory.ReconcilePolicy
	// UpdatePolicy says how an existing object is brought to its desired state.
	UpdatePolicy = inventory.UpdatePolicy
	// DeletePolicy says what happens to an object that is removed from the manifests, or whose owner is deleted.
	DeletePolicy = inventory.DeletePolicy
	// MissingNamespacesPolicy says what happens if an object lives in a namespace that does not exist and is not
	// among the objects.
	MissingNamespacesPolicy = inventory.MissingNamespacesPolicy
	// DriftPolicy says how changes that others make to a dependent are reacted upon.
	DriftPolicy = inventory.DriftPolicy
	// Policies are the values that apply to objects whose annotations do not say otherwise. A field that is empty
	// defaults to the value in Options.Policies, and that to the documented default.
	Policies = inventory.Policies
	// Verb says what was done to an object.
	Verb = inventory.Verb
	// Action says what was done to the objects of one wave.
	Action = inventory.Action
	// Notice says something about one object.
	Notice = inventory.Notice
	// Blocker is a foreign object whose existence forbids deletion.
	Blocker = inventory.Blocker
	// RefusedError is returned if objects cannot be accepted as they are. The objects that it names were not written; if
	// the set of objects contradicts itself, or an annotation is bad, nothing at all was written. Retrying is useless
	// until the input, or the foreign object that is named, changes.
	RefusedError = inventory.RefusedError
	// FencedError ends a call because Owner.Fence or Owner.Confirm said that it must not go on. What was requested before stands.
	FencedError = inventory.FencedError
	// StaleError ends a call of Apply because what it would do is not what was planned. If that was so from the beginning, nothing was
	// written; otherwise an object changed while the call was about to write it, and what was done before stands.
	//
	// An object has changed if it is another one, or if others changed or removed fields that we own (of an object of which we own
	// nothing: any field). Where field ownership is not tracked, its generation counts. A change of the status is none.
	StaleError = inventory.StaleError
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
	MissingNamespacesPolicyDoNotCreate       = inventory.MissingNamespacesPolicyDoNotCreate
	MissingNamespacesPolicyCreate            = inventory.MissingNamespacesPolicyCreate
	DriftPolicyCorrect                       = inventory.DriftPolicyCorrect
	DriftPolicyReport                        = inventory.DriftPolicyReport
	DriftPolicyIgnore                        = inventory.DriftPolicyIgnore
	VerbCreated                              = inventory.VerbCreated
	VerbAdopted                              = inventory.VerbAdopted
	VerbUpdated                              = inventory.VerbUpdated
	VerbCorrected                            = inventory.VerbCorrected
	VerbDeleted                              = inventory.VerbDeleted
	VerbCompleted                            = inventory.VerbCompleted
	VerbOrphaned                             = inventory.VerbOrphaned
)
