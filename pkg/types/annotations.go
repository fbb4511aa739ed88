// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package types

// Keys below are suffixes: the full key of a label or annotation is "<reconciler name>/<suffix>", with the name that
// was passed to NewReconciler().

const (
	// LabelKeySuffixOwnerId is the label that marks a dependent. Its value is the lower-case, unpadded base32 form of
	// the SHA-256 of the owner id.
	LabelKeySuffixOwnerId = "owner-id"
	// LabelKeySuffixInventoryOwnerId is the label of objects that hold a part of a component's inventory or deletion
	// hooks. It has the value of the owner label. Such an object is not a dependent.
	LabelKeySuffixInventoryOwnerId = "inventory-owner-id"
	// LabelKeySuffixRecord is the label of the record of a clm release, with the value LabelValueRecordRelease. Such an
	// object is not a dependent.
	LabelKeySuffixRecord = "record"
	// LabelValueRecordRelease is the only value of LabelKeySuffixRecord.
	LabelValueRecordRelease = "release"
	// LabelKeySuffixBarrierOwnerId is the label of barriers: objects that deny new instances of a type while its
	// definition is being deleted. It has the value of the owner label. Such an object is not a dependent.
	LabelKeySuffixBarrierOwnerId = "barrier-owner-id"

	// AnnotationKeySuffixOwnerId has the owner id of a dependent in plain text.
	AnnotationKeySuffixOwnerId = "owner-id"
	// AnnotationKeySuffixClaimedAt is on objects that hold a part of an inventory. It changes whenever an owner begins
	// to refer to the object again.
	AnnotationKeySuffixClaimedAt = "claimed-at"
	// AnnotationKeySuffixDigest has the digest of the manifest that was applied last.
	AnnotationKeySuffixDigest = "digest"
	// AnnotationKeySuffixAdoptionPolicy determines what happens if an object to create already exists.
	AnnotationKeySuffixAdoptionPolicy = "adoption-policy"
	// AnnotationKeySuffixReconcilePolicy determines which changes cause an object to be applied again.
	AnnotationKeySuffixReconcilePolicy = "reconcile-policy"
	// AnnotationKeySuffixUpdatePolicy determines how an existing object is updated.
	AnnotationKeySuffixUpdatePolicy = "update-policy"
	// AnnotationKeySuffixRecreateIfImmutable, set to "true", deletes an object and creates it again if the API server
	// refuses an update because a field cannot be changed.
	AnnotationKeySuffixRecreateIfImmutable = "recreate-if-immutable"
	// AnnotationKeySuffixIgnoreFields is a comma-separated list of fields that belong to the clients that change them
	// after the object was created: their drift is not corrected, and an update does not reset them.
	AnnotationKeySuffixIgnoreFields = "ignore-fields"
	// AnnotationKeySuffixKeptFields lists the ignored fields of an object of a clm release that the manifest does not
	// name: clm has left them to others on request.
	AnnotationKeySuffixKeptFields = "kept-fields"
	// AnnotationKeySuffixDeletePolicy determines what happens to an object that is removed from the manifests, or whose
	// owner is deleted.
	AnnotationKeySuffixDeletePolicy = "delete-policy"
	// AnnotationKeySuffixDriftPolicy determines what happens if others change an object.
	AnnotationKeySuffixDriftPolicy = "drift-policy"
	// AnnotationKeySuffixApplyOrder is the wave in which an object is applied, an integer between
	// MinOrder and MaxOrder. Defaults to 0.
	AnnotationKeySuffixApplyOrder = "apply-order"
	// AnnotationKeySuffixPurgeOrder is the apply wave at the end of which an object is deleted again. Defaults to none:
	// the object is not purged.
	AnnotationKeySuffixPurgeOrder = "purge-order"
	// AnnotationKeySuffixPurgeOnFailure, set to "true", deletes an object when it has failed. It stays recorded as
	// failed, and is applied again when its reconcile policy demands it.
	AnnotationKeySuffixPurgeOnFailure = "purge-on-failure"
	// AnnotationKeySuffixDeleteOrder is the wave in which an object is deleted. Defaults to 0.
	AnnotationKeySuffixDeleteOrder = "delete-order"
	// AnnotationKeySuffixDeletePropagation determines what happens to the objects owned by a deleted object.
	AnnotationKeySuffixDeletePropagation = "delete-propagation"
	// AnnotationKeySuffixPrunePolicy determines what happens to an object that would be deleted because its manifest is
	// removed.
	AnnotationKeySuffixPrunePolicy = "prune-policy"
	// AnnotationKeySuffixReapplyInterval is the Go duration after which an object is applied again if others may have
	// changed it unnoticed.
	AnnotationKeySuffixReapplyInterval = "reapply-interval"
	// AnnotationKeySuffixStatusHint is a comma-separated list of hints for computing the status; see the StatusHint
	// constants.
	AnnotationKeySuffixStatusHint = "status-hint"
	// AnnotationKeySuffixReadyWhen is a CEL expression over the object, self. The object is ready as long as it is
	// true, regardless of its status.
	AnnotationKeySuffixReadyWhen = "ready-when"
	// AnnotationKeySuffixFailWhen is a CEL expression over the object, self. The object has failed as long as it is
	// true, regardless of its status.
	AnnotationKeySuffixFailWhen = "fail-when"
	// AnnotationKeySuffixReadyTimeout is the Go duration within which an object must become ready after it was written.
	// Defaults to none.
	AnnotationKeySuffixReadyTimeout = "ready-timeout"
	// AnnotationKeySuffixReadyTimeoutPolicy determines what happens after the ready timeout.
	AnnotationKeySuffixReadyTimeoutPolicy = "ready-timeout-policy"
	// AnnotationKeySuffixAwait determines whether the component waits until an object is ready.
	AnnotationKeySuffixAwait = "await"
	// AnnotationKeySuffixDeletionHook makes an object a deletion hook: it is not a dependent, but is applied when the
	// component is deleted, and removed when it is ready. The value is the point of the deletion.
	AnnotationKeySuffixDeletionHook = "deletion-hook"
	// AnnotationKeySuffixMissingTypePolicy determines what happens if the type of an object is not served, and no other
	// object defines it.
	AnnotationKeySuffixMissingTypePolicy = "missing-type-policy"
	// AnnotationKeySuffixApplyHook makes an object an apply hook: a dependent that runs once for each state of the
	// component, after all other dependents or when one of them has failed, depending on the value.
	AnnotationKeySuffixApplyHook = "apply-hook"
	// AnnotationKeySuffixReleaseHook makes an object a release hook: it is not a dependent, but is applied when a
	// release is tested or rolled back, depending on the value. Components have no release hooks.
	AnnotationKeySuffixReleaseHook = "release-hook"
	// AnnotationKeySuffixVersioned, set to "true" on a ConfigMap or Secret of a clm release, gives each version of its
	// content a name of its own, which the other objects of the release refer to. Components have no versioned objects.
	AnnotationKeySuffixVersioned = "versioned"
	// AnnotationKeySuffixKeptVersions is the maximum number of versions of a versioned object, including the current
	// one.
	AnnotationKeySuffixKeptVersions = "kept-versions"
	// AnnotationKeySuffixVersionOf is on the versions of an object. It has their name without the suffix of the
	// version.
	AnnotationKeySuffixVersionOf = "version-of"
	// AnnotationKeySuffixCRDUpgradePolicy, on a CustomResourceDefinition, determines whether it may become narrower than
	// live instances allow.
	AnnotationKeySuffixCRDUpgradePolicy = "crd-upgrade-policy"
	// AnnotationKeySuffixStorageMigration has the progress of storing the instances of a CustomResourceDefinition in
	// another version. The reconciler sets it.
	AnnotationKeySuffixStorageMigration = "storage-migration"
	// AnnotationKeySuffixRolloutPaused, set to "true" on the CustomResourceDefinition of components, pauses the rollout of
	// a version of their operator.
	AnnotationKeySuffixRolloutPaused = "rollout-paused"
	// AnnotationKeySuffixSkipDeletionHooks, set to "true" on a component that is being deleted, skips its deletion
	// hooks that are not done yet.
	AnnotationKeySuffixSkipDeletionHooks = "skip-deletion-hooks"
	// AnnotationKeySuffixDisableEvents, set to "true" on a component, suppresses events about its dependents.
	AnnotationKeySuffixDisableEvents = "disable-events"
	// AnnotationKeySuffixReconcileAt starts an attempt to reconcile the component when its value changes. The value has
	// no meaning.
	AnnotationKeySuffixReconcileAt = "reconcile-at"
	// AnnotationKeySuffixAbandonTarget, set to "true" on a component that is being deleted, lets the deletion end
	// although the target cluster can no longer be reached. The dependents stay in that cluster.
	AnnotationKeySuffixAbandonTarget = "abandon-target"
	// AnnotationKeySuffixIgnoreNeededBy, set to "true" on a component that is being deleted, lets it be deleted before the
	// components that depend on it.
	AnnotationKeySuffixIgnoreNeededBy = "ignore-needed-by"
	// AnnotationKeySuffixApproveDeletions, on a component, approves the deletion of the held dependents. The value is
	// the digest in the component's condition, which identifies exactly these dependents.
	AnnotationKeySuffixApproveDeletions = "approve-deletions"
	// AnnotationKeySuffixDeletionApproved, on a component, records that a user has approved the component's deletion,
	// so that the approval remains valid until the component is gone. The reconciler sets it; the value identifies the
	// component and its deletion.
	AnnotationKeySuffixDeletionApproved = "deletion-approved"
	// AnnotationKeySuffixDeletionRetriedAt is on a CustomResourceDefinition that is being deleted. The reconciler sets
	// it to make the API server retry, after the API server has failed to delete the instances; the value is the time.
	AnnotationKeySuffixDeletionRetriedAt = "deletion-retried-at"
	// AnnotationKeySuffixOrphanDependents, set to "true" on a component, orphans its dependents when it is deleted,
	// instead of deleting them. The reconciler sets it when a component is deleted with the propagation policy Orphan.
	AnnotationKeySuffixOrphanDependents = "orphan-dependents"
	// AnnotationKeySuffixDeletionHooksChecksum has the checksum of the deletion hooks that the operator has stored for
	// a component. The operator sets it, and applies the hooks that the status refers to only if they match it.
	AnnotationKeySuffixDeletionHooksChecksum = "deletion-hooks-checksum"
)

const (
	// AdoptionPolicyNever refuses any object that already exists and does not belong to the component.
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
	// ReconcilePolicyOnce applies an object once and never changes its content again.
	ReconcilePolicyOnce = "once"
)

const (
	// UpdatePolicyDefault is equivalent to not setting the annotation.
	//
	// Deprecated: leave the annotation out instead.
	UpdatePolicyDefault = "default"
	// UpdatePolicyRecreate deletes and creates an object instead of updating it.
	UpdatePolicyRecreate = "recreate"
	// UpdatePolicyReplace applies the declared fields and removes fields that others added.
	UpdatePolicyReplace = "replace"
	// UpdatePolicySsaMerge applies the declared fields and leaves all others alone.
	UpdatePolicySsaMerge = "ssa-merge"
	// UpdatePolicySsaOverride is ssa-merge, and removes fields that certain field managers added.
	UpdatePolicySsaOverride = "ssa-override"
)

const (
	// DeletePolicyDefault is equivalent to not setting the annotation.
	//
	// Deprecated: leave the annotation out instead.
	DeletePolicyDefault = "default"
	// DeletePolicyDelete deletes an object that is removed from the manifests, or whose component is deleted.
	DeletePolicyDelete = "delete"
	// DeletePolicyOrphan orphans an object instead of deleting it.
	DeletePolicyOrphan = "orphan"
	// DeletePolicyOrphanOnApply orphans an object that is removed from the manifests.
	DeletePolicyOrphanOnApply = "orphan-on-apply"
	// DeletePolicyOrphanOnDelete orphans an object when the component is deleted.
	DeletePolicyOrphanOnDelete = "orphan-on-delete"
	// DeletePolicyConfirmOnDelete deletes an object that is removed from the manifests. If the component is deleted,
	// nothing is deleted before a user has approved the deletion of this object.
	DeletePolicyConfirmOnDelete = "confirm-on-delete"
)

const (
	// DeletePropagationBackground deletes an object at once, and the objects that it owns afterwards. This is the
	// default.
	DeletePropagationBackground = "background"
	// DeletePropagationForeground deletes the objects that an object owns first; the object is gone when they are.
	DeletePropagationForeground = "foreground"
	// DeletePropagationOrphan deletes an object, and keeps the objects that it owns.
	DeletePropagationOrphan = "orphan"
)

const (
	// PrunePolicyDelete deletes an object when its manifest is removed. This is the default.
	PrunePolicyDelete = "delete"
	// PrunePolicyKeep leaves such an object as it is. It remains a dependent, and is deleted with the owner.
	PrunePolicyKeep = "keep"
	// PrunePolicyConfirm deletes such an object after a user has approved that.
	PrunePolicyConfirm = "confirm"
)

const (
	// DriftPolicyCorrect reverts changes that others make to declared fields.
	DriftPolicyCorrect = "correct"
	// DriftPolicyReport reports such changes and does not revert them.
	DriftPolicyReport = "report"
	// DriftPolicyIgnore ignores such changes; an object that was deleted is created again.
	DriftPolicyIgnore = "ignore"

	// ReadyTimeoutPolicyFail makes an object that was not ready in time count as failed, until it is ready. This is the
	// default.
	ReadyTimeoutPolicyFail = "fail"
	// ReadyTimeoutPolicyContinue begins the next wave although an object was not ready in time. The component still
	// waits for the object.
	ReadyTimeoutPolicyContinue = "continue"

	// AwaitAlways makes later waves and the component wait until the object is ready. This is the default.
	AwaitAlways = "always"
	// AwaitNever makes nothing wait for the object; its failure does not count.
	AwaitNever = "never"

	// CRDUpgradePolicyCheck refuses the change. This is the default.
	CRDUpgradePolicyCheck = "check"
	// CRDUpgradePolicyAllow makes the change.
	CRDUpgradePolicyAllow = "allow"

	// MissingTypePolicyRefuse refuses all objects before anything is written. This is the default.
	MissingTypePolicyRefuse = "refuse"
	// MissingTypePolicyWait applies the object in its wave, once its type is served.
	MissingTypePolicyWait = "wait"

	// ApplyHookPostApply applies the hook when all dependents that are not hooks are ready, and redundant ones are
	// gone. The component is ready when its hooks are.
	ApplyHookPostApply = "post-apply"
	// ApplyHookOnFailure applies the hook when other dependents have failed, or were rejected by the API server.
	ApplyHookOnFailure = "on-failure"

	// DeletionHookPreDelete applies the hook before the first dependent is deleted.
	DeletionHookPreDelete = "pre-delete"
	// DeletionHookPostDelete applies the hook when all dependents are gone.
	DeletionHookPostDelete = "post-delete"

	// ReleaseHookTest applies the hook when the release is tested.
	ReleaseHookTest = "test"
	// ReleaseHookPreRollback applies the hook before the objects of an earlier revision.
	ReleaseHookPreRollback = "pre-rollback"
	// ReleaseHookPostRollback applies the hook when the objects of an earlier revision are ready.
	ReleaseHookPostRollback = "post-rollback"
)

const (
	// StatusHintHasObservedGeneration means that the object gets a status.observedGeneration even if it is not set yet.
	StatusHintHasObservedGeneration = "has-observed-generation"
	// StatusHintHasReadyCondition means that the object gets a Ready condition even if it is not set yet.
	StatusHintHasReadyCondition = "has-ready-condition"
	// StatusHintRunToCompletion makes a Pod ready when it has succeeded, not while it runs.
	StatusHintRunToCompletion = "run-to-completion"
	// StatusHintConditions takes a semicolon-separated list of conditions that must be True.
	StatusHintConditions = "conditions"
)
