// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Store keeps an inventory.
type Store interface {
	// Save persists the inventory. Once it has returned nil, the next call of Apply or Delete must be given this
	// inventory or a later one, even in another process. An error ends the current call.
	Save(ctx context.Context, inventory []*InventoryItem) error
}

// Owner is what dependents belong to.
type Owner struct {
	// ID identifies the owner; unique per field manager and cluster. Required.
	ID string
	// Namespace is the namespace of namespaced objects that do not name one.
	Namespace string
	// Inventory is what the last call returned, or the last saved inventory. It is not changed.
	Inventory []*InventoryItem
	// Store receives the inventory before writes that depend on it. Required.
	Store Store
	// Fence is called right before each request that may change something, after the engine has observed all that the
	// request is guarded by. An error ends the call with a FencedError. A caller that hands owners over from one
	// process to another returns an error as soon as the owner may belong to another process. Fence may be called from
	// several goroutines. Defaults to none.
	Fence func() error
	// Confirm is called before an object that was written before and has vanished is created again: the process that
	// deleted it may work for the same owner, on newer input. Confirm reads the source of this call's input, not from a
	// cache, and returns an error if that has changed. Then nothing more is written, and the call ends with a
	// FencedError. One call of Confirm covers all objects that are known to have vanished before it. Calls for one
	// owner do not overlap each other, but may overlap requests about other dependents. Defaults to none.
	Confirm func(ctx context.Context) error
	// Home are the namespaces that hold what the owner itself needs, such as its custom resource or its record. If such
	// a namespace is a dependent, it is applied like any other, but orphaned instead of deleted: deleting it would
	// delete the owner before its other dependents, or have the owner wait for itself. Defaults to none.
	Home []string
	// Self is the owner's own object, if it is in the cluster of the dependents. It does not count as a foreign
	// instance of its type, and a dependent that defines this type is orphaned instead of deleted, because the owner
	// would be deleted with it. Defaults to none.
	Self types.ObjectKey
	// AdditionalManagedTypes are types (or patterns of types) that exist because of this owner although none of its
	// objects defines them. They are listed only with the identity of the client (see Reconciler.As).
	AdditionalManagedTypes []TypeInfo
}

// ApplyRequest is the input of Reconciler.Apply.
type ApplyRequest struct {
	Owner
	// Objects is the complete set of wanted objects, in any order. They are not changed.
	Objects []client.Object
	// Version identifies Objects: the next call for the same owner with the same Version must have the same objects in
	// the same order, and uses the results computed from them again. Defaults to none: each call processes all objects.
	Version string
	// Digest identifies the state of the owner. Objects with ReconcilePolicyOnObjectOrComponentChange are applied
	// when it changes.
	Digest string
	// FormerDigest is another digest of the same state of the owner, which the inventory may still record. Objects that
	// were applied with it are not applied again. Defaults to none.
	FormerDigest string
	// DigestKey keys the recorded digests of Secrets, so that a user who may read the inventory cannot guess their
	// content. Digests that were recorded without a key are still recognized. Defaults to none.
	DigestKey []byte
	// Policies of this owner.
	Policies Policies
	// Judge computes the status of the dependents of this owner. If its rules differ from those of the last call, each
	// dependent is read once. Defaults to Options.Judge.
	Judge status.Judge
	// Expected is what Plan returned for the same request. Apply does that, or ends with a *StaleError; only on-failure
	// hooks, which no plan foresees, are applied all the same. Each object that the plan creates costs a read, because
	// objects without our label are not watched.
	//
	// It is for the beginning of an operation: a call that failed may be repeated with it (changes that were made are
	// not compared again), but the caller drops it once a call has returned without an error. After that, the engine
	// reacts to changes by others as the policies say. Defaults to none.
	Expected *Plan
	// TakeOver are wanted objects that are adopted from any owner, whatever their adoption policies say, and never
	// deleted for it. The owner label changes in one write, so that an object always has an owner. An object that
	// should be applied only once, and was according to the inventory, keeps its content. Defaults to none.
	TakeOver []types.ObjectKey
	// Siblings are other owners, by ID, of which one takes over objects from the other while both are applied:
	// revisions of the same set. What an object is when this call comes to it counts. Defaults to none.
	Siblings map[string]Relation
	// Deletions limits how many redundant dependents are deleted. If there are more, none of them is; everything else
	// is done as usual, and Result.Held names them. Defaults to no limit.
	Deletions Deletions
	// RecordAdoptions records InventoryItem.Adopted before an object is adopted; this costs one save for each tier with
	// such objects. The mark stays as long as the item. Defaults to no: then the inventory does not tell which
	// dependents existed before.
	RecordAdoptions bool
	// CarryOn begins each wave when the objects of the one before are written, whether they are ready or not. The
	// result is Done only if all objects are ready; redundant dependents are deleted only then. Defaults to no.
	CarryOn bool
	// Suspend brings the objects with the behavior Suspending into their suspended form, wave by wave in reversed apply
	// order, and deletes those that want to be deleted then. Objects that do not exist are not created. All other
	// dependents are left alone: nothing is corrected, and nothing pruned. The result is Done when all are suspended.
	// The next call without Suspend brings them back. Defaults to no.
	Suspend bool
	// Failed applies the on-failure hooks although the call itself may find no failure: the caller has found one.
	// Defaults to no.
	Failed bool
	// RerunFailed runs Jobs and Pods again that have failed, if their update policy is UpdatePolicyRecreate or they
	// were deleted because they had failed (PurgeOnFailure). It is for callers whose users ask for another attempt, and
	// for the first call of it only: what fails again must not run a third time. Defaults to no.
	RerunFailed bool
	// AfterWave is called when the call has changed objects of a wave and none of the wave is left to be written,
	// whether they are ready or not; order is the apply order, and final means that no later wave has objects. An error
	// ends the call with a FencedError, before the next wave. It is not called for on-failure hooks. Defaults to none.
	AfterWave func(ctx context.Context, order int, final bool) error
	// RunOnce keeps Jobs and Pods that were ready and are gone from being created again: they have served their
	// purpose. Defaults to no: then this holds only for Jobs that delete themselves, and for what runs once for each
	// state of the owner (ReconcilePolicyOnObjectOrComponentChange): Jobs, and Pods with the status hint
	// run-to-completion.
	RunOnce bool
}

// DeleteRequest is the input of Reconciler.Delete and Reconciler.CheckDeletion.
type DeleteRequest struct {
	Owner

	// Approved is the digest of the dependents with DeletePolicyConfirmOnDelete that may be deleted; see HeldDeletions.
	// Defaults to none.
	Approved string
	// Occasion distinguishes this deletion from others of the same objects, so that an approval holds for one of them
	// only: the digests of two occasions differ. Defaults to none.
	Occasion string
	// Departing are other owners whose dependents the caller deletes before: CheckDeletion does not count what is in
	// their inventories as instances of managed types. An object with another UID than the recorded one counts
	// nevertheless. If no UID is recorded, because whoever created the object ended before it could record that, the
	// object must have the label of its owner, and must have been written by us. Only the IDs and inventories of the
	// owners matter. Delete ignores it. Defaults to none.
	Departing []Owner
	// Unasked deletes dependents with DeletePolicyConfirmOnDelete without approval, because the caller has asked
	// already, or has created them only for a time. Defaults to no.
	Unasked bool
}

// Result says how far a call of Apply or Delete came. It is valid even if the call returned an error.
type Result struct {
	// Inventory is the state of all dependents. The caller must persist it, and pass it to the next call.
	Inventory []*InventoryItem
	// Done means that all objects are ready or completed and all redundant dependents are gone (Apply), or that all
	// dependents are gone (Delete).
	Done bool
	// Wave is the apply or delete order at which the call stopped; meaningful only if not Done.
	Wave int
	// WaveSize is the number of dependents in that wave.
	WaveSize int
	// Waits lists the dependents that the call waits for, sorted by object; empty if Done.
	Waits []Notice
	// Failures lists dependents that have failed, and do not become ready without intervention.
	Failures []Notice
	// Unhealthy lists dependents that do their job in part, or not at all, as far as their judges say so. They may be
	// ready nevertheless. Dependents that the call has not come to are missing.
	Unhealthy []Unhealthy
	// Drift lists dependents that others changed and that were not corrected, either because of DriftPolicyReport, or
	// because another client keeps changing them and the next correction has to wait.
	Drift []Notice
	// Notes lists what the API server changed or warned about while objects were written.
	Notes []Notice
	// Errors has a notice for each dependent for which the call has failed. The error of the call has their texts, too.
	Errors []Notice
	// Held are dependents that were not deleted without approval; nil if there are none. Then the result is not Done.
	// Apply holds redundant dependents, and does everything else. Delete does nothing if there are such dependents.
	Held *HeldDeletions
	// Aftermath says how far the on-failure hooks are. It does not affect Done.
	Aftermath Aftermath
	// Actions lists what was done to dependents.
	Actions []Action
	// RequeueAfter is how long to wait before repeating the call if no event arrives; zero if only an event can change
	// anything.
	RequeueAfter time.Duration
}

// Aftermath says how far the on-failure hooks of an owner are. It is empty unless they have been applied.
type Aftermath struct {
	// Waits lists the hooks that the call waits for, sorted by object, including those that have failed.
	Waits []Notice
	// Failures lists the hooks that have failed.
	Failures []Notice
	// Problem says why hooks could not be applied; empty if they could.
	Problem string
	// Lasting means that the problem does not go away by itself.
	Lasting bool
}

// Goes reports whether hooks are under way that may still become ready.
func (a Aftermath) Goes() bool {
	doomed := 0
	for _, notice := range a.Waits {
		if notice.Doomed {
			doomed++
		}
	}
	return len(a.Waits) > len(a.Failures)+doomed
}
