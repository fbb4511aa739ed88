// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package types

// Keys below are suffixes: the full key of a label or annotation is "<reconciler name>/<suffix>", where
// the reconciler name is what was passed to NewReconciler().

const (
	// LabelKeySuffixOwnerId is the label that marks a dependent as owned. Its value is the lower-case,
	// unpadded base32 form of the SHA-256 of the owner id.
	LabelKeySuffixOwnerId = "owner-id"
	// LabelKeySuffixInventoryOwnerId is the label that marks an object which holds a part of the inventory of a component, or of its
	// deletion hooks.
	// Its value is formed as that of the owner label. Such an object is not a dependent.
	LabelKeySuffixInventoryOwnerId = "inventory-owner-id"
	// LabelKeySuffixRecord is the label that marks the record of a release of clm, with the value LabelValueRecordRelease. Such an
	// object is not a dependent.
	LabelKeySuffixRecord = "record"
	// LabelValueRecordRelease is the only value of LabelKeySuffixRecord.
	LabelValueRecordRelease = "release"
	// LabelKeySuffixBarrierOwnerId is the label that marks what keeps instances of a type from being created while its definition is
	// being deleted. Its value is formed as that of the owner label. Such an object is not a dependent.
	LabelKeySuffixBarrierOwnerId = "barrier-owner-id"

	// AnnotationKeySuffixOwnerId carries the owner id of a dependent in plain text.
	AnnotationKeySuffixOwnerId = "owner-id"
	// AnnotationKeySuffixClaimedAt changes whenever an object with a part of an inventory is referred to again.
	AnnotationKeySuffixClaimedAt = "claimed-at"
	// AnnotationKeySuffixDigest carries the digest of the manifest that was applied last.
	AnnotationKeySuffixDigest = "digest"
	// AnnotationKeySuffixAdoptionPolicy says what happens if an object exists before it was created by us.
	AnnotationKeySuffixAdoptionPolicy = "adoption-policy"
	// AnnotationKeySuffixReconcilePolicy says which changes cause an object to be applied again.
	AnnotationKeySuffixReconcilePolicy = "reconcile-policy"
	// AnnotationKeySuffixUpdatePolicy says how an existing object is brought to its desired state.
	AnnotationKeySuffixUpdatePolicy = "update-policy"
	// AnnotationKeySuffixDeletePolicy says what happens to an object that is no longer wanted.
	AnnotationKeySuffixDeletePolicy = "delete-policy"
	// AnnotationKeySuffixDriftPolicy says how a change made by others is reacted upon.
	AnnotationKeySuffixDriftPolicy = "drift-policy"
	// AnnotationKeySuffixApplyOrder is the wave in which an object is applied, an integer between
	// MinOrder and MaxOrder. Defaults to 0.
	AnnotationKeySuffixApplyOrder = "apply-order"
	// AnnotationKeySuffixPurgeOrder is the apply wave at the end of which an object is deleted again.
	// If unset, the object is not purged.
	AnnotationKeySuffixPurgeOrder = "purge-order"
	// AnnotationKeySuffixPurgeOnFailure, set to "true", has an object deleted when it has failed. It stays recorded as failed, and is
	// applied again when its reconcile policy demands it.
	AnnotationKeySuffixPurgeOnFailure = "purge-on-failure"
	// AnnotationKeySuffixDeleteOrder is the wave in which an object is deleted. Defaults to 0.
	AnnotationKeySuffixDeleteOrder = "delete-order"
	// AnnotationKeySuffixReapplyInterval is a Go duration after which an object is verified even if
	// nothing is known to have changed.
	AnnotationKeySuffixReapplyInterval = "reapply-interval"
	// AnnotationKeySuffixStatusHint is a comma-separated list of hints for the status analysis.
	AnnotationKeySuffixStatusHint = "status-hint"
	// AnnotationKeySuffixDeletionHook makes a deletion hook of an object: it is not one of the dependents, but is applied when the
	// component is deleted, and removed again when it is ready. Its value says when.
	AnnotationKeySuffixDeletionHook = "deletion-hook"
	// AnnotationKeySuffixReleaseHook makes a release hook of an object: it is not one of the dependents, but is applied when something
	// special is done with a release, which its value says. Components have no release hooks.
	AnnotationKeySuffixReleaseHook = "release-hook"
	// AnnotationKeySuffixSkipDeletionHooks, set to "true" on a component that is being deleted, leaves out its deletion hooks
	// as far as they are not over.
	AnnotationKeySuffixSkipDeletionHooks = "skip-deletion-hooks"
	// AnnotationKeySuffixDisableEvents, set to "true" on a component, suppresses events about its dependents.
	AnnotationKeySuffixDisableEvents = "disable-events"
	// AnnotationKeySuffixAbandonTarget, set to "true" on a component that is being deleted, releases it
	// although its target cluster cannot be reached any more; its dependents stay behind.
	AnnotationKeySuffixAbandonTarget = "abandon-target"
	// AnnotationKeySuffixOrphanDependents, set to "true" on a component, has its dependents released and not deleted when it is
	// deleted. The reconciler sets it when a component is deleted with the propagation policy Orphan.
	AnnotationKeySuffixOrphanDependents = "orphan-dependents"
	// AnnotationKeySuffixDeletionHooksChecksum on a component has the checksum of the deletion hooks that the operator has stored for it. It is
	// set by the operator: what a status refers to is applied only if this confirms it.
	AnnotationKeySuffixDeletionHooksChecksum = "deletion-hooks-checksum"
)

const (
	// MinOrder is the smallest value of an apply, purge or delete order.
	MinOrder = -1 << 15
	// MaxOrder is the largest value of an apply, purge or delete order.
	MaxOrder = 1<<15 - 1
)

const (
	// AdoptionPolicyNever refuses any object that already exists without being owned by the component.
	AdoptionPolicyNever = "never"
	// AdoptionPolicyIfUnowned adopts an existing object if it has no owner.
	AdoptionPolicyIfUnowned = "if-unowned"
	// AdoptionPolicyAlways adopts an existing object even if it has another owner.
	AdoptionPolicyAlways = "always"
)

const (
	// ReconcilePolicyOnObjectChange applies an object when its manifest changes.
	ReconcilePolicyOnObjectChange = "on-object-change"
	// ReconcilePolicyOnObjectOrComponentChange applies an object when its manifest or the component changes.
	ReconcilePolicyOnObjectOrComponentChange = "on-object-or-component-change"
	// ReconcilePolicyOnce applies an object once; its content is never touched again.
	ReconcilePolicyOnce = "once"
)

const (
	// UpdatePolicyDefault is equivalent to not setting the annotation.
	//
	// Deprecated: leave the annotation out instead.
	UpdatePolicyDefault = "default"
	// UpdatePolicyRecreate deletes and creates an object instead of updating it.
	UpdatePolicyRecreate = "recreate"
	// UpdatePolicyReplace makes an object what its manifest says; fields added by others are removed.
	UpdatePolicyReplace = "replace"
	// UpdatePolicySsaMerge applies the declared fields and leaves all others alone.
	UpdatePolicySsaMerge = "ssa-merge"
	// UpdatePolicySsaOverride is ssa-merge which in addition reclaims fields of certain field managers.
	UpdatePolicySsaOverride = "ssa-override"
)

const (
	// DeletePolicyDefault is equivalent to not setting the annotation.
	//
	// Deprecated: leave the annotation out instead.
	DeletePolicyDefault = "default"
	// DeletePolicyDelete deletes an object that is no longer wanted.
	DeletePolicyDelete = "delete"
	// DeletePolicyOrphan never deletes an object; it is released instead.
	DeletePolicyOrphan = "orphan"
	// DeletePolicyOrphanOnApply releases an object that is missing in a new version of the manifests.
	DeletePolicyOrphanOnApply = "orphan-on-apply"
	// DeletePolicyOrphanOnDelete releases an object when the component is deleted.
	DeletePolicyOrphanOnDelete = "orphan-on-delete"
)

const (
	// DriftPolicyCorrect reverts changes that others make to declared fields.
	DriftPolicyCorrect = "correct"
	// DriftPolicyReport names such changes and leaves them alone.
	DriftPolicyReport = "report"
	// DriftPolicyIgnore does not look for such changes; an object that was deleted is created again.
	DriftPolicyIgnore = "ignore"

	// DeletionHookPreDelete has the hook applied before the first dependent is deleted.
	DeletionHookPreDelete = "pre-delete"
	// DeletionHookPostDelete has the hook applied when all dependents are gone.
	DeletionHookPostDelete = "post-delete"

	// ReleaseHookTest has the hook applied when the release is tested.
	ReleaseHookTest = "test"
	// ReleaseHookPreRollback has the hook applied before the objects of an earlier revision.
	ReleaseHookPreRollback = "pre-rollback"
	// ReleaseHookPostRollback has the hook applied when the objects of an earlier revision are ready.
	ReleaseHookPostRollback = "post-rollback"
)

const (
	// StatusHintHasObservedGeneration says that the object has a status.observedGeneration even if it is not set yet.
	StatusHintHasObservedGeneration = "has-observed-generation"
	// StatusHintHasReadyCondition says that the object has a Ready condition even if it is not set yet.
	StatusHintHasReadyCondition = "has-ready-condition"
	// StatusHintRunToCompletion says of a Pod that it is ready when it has succeeded, and not while it runs.
	StatusHintRunToCompletion = "run-to-completion"
	// StatusHintConditions takes a semicolon-separated list of conditions that must be True.
	StatusHintConditions = "conditions"
)
