// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

// An OperationPhase is the progress of an operation, or of one object.
type OperationPhase string

const (
	// OperationRunning means that something is left to be done, or to be waited for.
	OperationRunning OperationPhase = "Running"
	// OperationTerminating means that the operation has to be terminated. A caller may record it, and pass it to
	// WithInitialState. Then Sync does what Terminate does.
	OperationTerminating OperationPhase = "Terminating"
	// OperationFailed means that objects were refused or have failed, or that the operation was terminated.
	OperationFailed OperationPhase = "Failed"
	// OperationError means that something has failed that is not about objects, such as a function of the caller.
	OperationError OperationPhase = "Error"
	// OperationSucceeded means that all is applied and healthy.
	OperationSucceeded OperationPhase = "Succeeded"
)

// Completed reports whether the operation has ended.
func (p OperationPhase) Completed() bool { return p.Failed() || p.Successful() }

// Running reports whether the operation is under way.
func (p OperationPhase) Running() bool { return p == OperationRunning }

// Successful reports whether the operation has succeeded.
func (p OperationPhase) Successful() bool { return p == OperationSucceeded }

// Failed reports whether the operation has ended without success.
func (p OperationPhase) Failed() bool { return p == OperationFailed || p == OperationError }

// A SyncPhase is a part of an operation.
type SyncPhase string

const (
	// SyncPhasePreSync is before everything else is applied.
	SyncPhasePreSync SyncPhase = "PreSync"
	// SyncPhaseSync is when Sync hooks and objects that are not hooks are applied.
	SyncPhaseSync SyncPhase = "Sync"
	// SyncPhasePostSync is when everything is applied and healthy, and obsolete objects are gone.
	SyncPhasePostSync SyncPhase = "PostSync"
	// SyncPhaseSyncFail is when objects were refused or have failed after the operation has begun to write.
	SyncPhaseSyncFail SyncPhase = "SyncFail"
)

// A HookType says when a hook runs: it is a value of the annotation argocd.argoproj.io/hook.
type HookType string

const (
	// HookTypePreSync runs a hook in SyncPhasePreSync.
	HookTypePreSync HookType = "PreSync"
	// HookTypeSync runs a hook in SyncPhaseSync.
	HookTypeSync HookType = "Sync"
	// HookTypePostSync runs a hook in SyncPhasePostSync.
	HookTypePostSync HookType = "PostSync"
	// HookTypeSyncFail runs a hook in SyncPhaseSyncFail.
	HookTypeSyncFail HookType = "SyncFail"
	// HookTypeSkip leaves out an object that has no other type.
	HookTypeSkip HookType = "Skip"
)

// NewHookType returns the hook type with a name, and whether there is one.
func NewHookType(name string) (HookType, bool) {
	switch hook := HookType(name); hook {
	case HookTypePreSync, HookTypeSync, HookTypePostSync, HookTypeSyncFail, HookTypeSkip:
		return hook, true
	default:
		return "", false
	}
}

// A HookDeletePolicy says when a hook is deleted: it is a value of the annotation
// argocd.argoproj.io/hook-delete-policy.
type HookDeletePolicy string

const (
	// HookDeletePolicyHookSucceeded deletes a hook after it has succeeded.
	HookDeletePolicyHookSucceeded HookDeletePolicy = "HookSucceeded"
	// HookDeletePolicyHookFailed deletes a hook after it has failed.
	HookDeletePolicyHookFailed HookDeletePolicy = "HookFailed"
	// HookDeletePolicyBeforeHookCreation deletes the hook of an earlier operation before it is created again. It is the
	// default.
	HookDeletePolicyBeforeHookCreation HookDeletePolicy = "BeforeHookCreation"
)

// NewHookDeletePolicy returns the policy with a name, and whether there is one.
func NewHookDeletePolicy(name string) (HookDeletePolicy, bool) {
	switch policy := HookDeletePolicy(name); policy {
	case HookDeletePolicyHookSucceeded, HookDeletePolicyHookFailed, HookDeletePolicyBeforeHookCreation:
		return policy, true
	default:
		return "", false
	}
}

// A ResultCode says what was done about an object.
type ResultCode string

const (
	// ResultCodeSynced means that the object is applied.
	ResultCodeSynced ResultCode = "Synced"
	// ResultCodeSyncFailed means that the object could not be applied or pruned.
	ResultCodeSyncFailed ResultCode = "SyncFailed"
	// ResultCodePruned means that the obsolete object is gone, or that its deletion was requested.
	ResultCodePruned ResultCode = "Pruned"
	// ResultCodePruneSkipped means that the object is obsolete, and stays.
	ResultCodePruneSkipped ResultCode = "PruneSkipped"
)

// A ResourceSyncResult says what an operation did about one object in one phase.
type ResourceSyncResult struct {
	// ResourceKey identifies the object.
	ResourceKey ResourceKey
	// Version of the API in which the object was declared.
	Version string
	// Order counts the results in the order in which they came, from 1.
	Order int
	// Status says what was done.
	Status ResultCode
	// Message explains the status.
	Message string
	// HookType is empty if the object is no hook.
	HookType HookType
	// HookPhase says how far the object is, hook or not: OperationRunning until it is healthy, or has completed.
	HookPhase OperationPhase
	// SyncPhase is the phase in which the object was applied.
	SyncPhase SyncPhase
}
