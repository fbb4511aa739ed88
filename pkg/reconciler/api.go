// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/types"
)

// Store keeps an inventory.
type Store interface {
	// Save persists the inventory. Once it returned nil, the next call of Apply or Delete, also one made by
	// another process, is given this inventory or a later one. An error ends the current call.
	Save(ctx context.Context, inventory []*InventoryItem) error
}

// Owner is on whose behalf objects are applied and deleted.
type Owner struct {
	// ID identifies the owner; unique per field manager and cluster. Required.
	ID string
	// Namespace is where namespaced objects go that do not name a namespace.
	Namespace string
	// Inventory is what the last call returned, or what was saved last. It is not changed.
	Inventory []*InventoryItem
	// Store receives the inventory before writes that depend on it. Required.
	Store Store
	// Fence is called right before each request that may change something, after everything was observed by which
	// the request is guarded. An error ends the call with a FencedError. It may be called from several goroutines.
	// Whoever hands owners over from one process to another returns an error as soon as an owner may have passed on.
	// Defaults to none.
	Fence func() error
	// Confirm is called before an object is created again that was written before, and has vanished: whoever removed it may
	// work for the same owner, and know better what is wanted. It asks the source of what this call was given, not a cache, and
	// returns an error unless that is as it was. Then nothing is written any more, and the call ends with a FencedError. One
	// call of it counts for all objects that are known to have vanished before it; it does not overlap with another one of the
	// same owner, but with requests about other dependents. Defaults to none.
	Confirm func(ctx context.Context) error
	// Home are the namespaces that hold what the owner itself needs, such as the object that it stands for, or its record. If such a
	// namespace is a dependent, it is applied as any other, but released where it would be deleted: with it, the owner would go before
	// its other dependents, or would wait for itself. Defaults to none.
	Home []string
	// Self is the object for which the owner stands, if it is in the cluster of the dependents. It is no foreign instance of its type. An
	// object that defines its type is released where it would be deleted, because the owner would go with it. Defaults to none.
	Self types.ObjectKey
	// AdditionalManagedTypes are types (or patterns of types) that exist because of this owner although their
	// definitions are not among its objects. Only the identity of the client looks at them.
	AdditionalManagedTypes []TypeInfo
}

// ApplyRequest is the input of Reconciler.Apply.
type ApplyRequest struct {
	Owner
	// Objects is the complete set of wanted objects, in any order. They are not changed.
	Objects []client.Object
	// Version identifies Objects: what was computed from them is used again by the next call for the same owner that has
	// the same Version, which then must have the same objects in the same order. Defaults to none: then each call
	// looks at each object.
	Version string
	// Digest identifies the state of the owner. Objects with ReconcilePolicyOnObjectOrComponentChange are applied
	// when it changes.
	Digest string
	// FormerDigest is a digest of the same state of the owner that may be recorded. What was applied with it is not applied again.
	// Defaults to none.
	FormerDigest string
	// DigestKey keys the recorded digests of Secrets, so that who may read the inventory cannot guess what is in them. What was recorded
	// without a key is recognized. Defaults to none.
	DigestKey []byte
	// Policies of this owner.
	Policies Policies
	// Expected is what Plan said about the same request. Apply does that, or ends with a *StaleError. Each object that the plan
	// creates costs a read, since only the server knows what does not carry our label.
	//
	// It is for the beginning of an operation: a call that failed may be repeated with it (what was done is not compared any
	// more), but once a call has returned without an error the caller drops it. While objects become ready, others may
	// change them, and that is reacted to as the policies say. Defaults to none.
	Expected *Plan
	// TakeOver are wanted objects that are adopted whoever owns them, whatever their adoption policies say, and never deleted for it. The
	// mark of the owner changes in one write, so that each of them has an owner all the time. What was applied once, as the
	// inventory knows, keeps its content. Defaults to none.
	TakeOver []types.ObjectKey
	// RecordAdoptions has InventoryItem.Adopted recorded of an object before it is adopted, in one save for each tier of objects with such
	// ones. It stays as long as the object is recorded, whatever becomes of that. Defaults to no: then it is not known which dependents
	// were there before.
	RecordAdoptions bool
	// RunOnce has Jobs and Pods not be created again that were ready and are gone: they have done what they are for. Defaults to no: then that
	// holds for Jobs only that remove themselves.
	RunOnce bool
}

// DeleteRequest is the input of Reconciler.Delete and Reconciler.CheckDeletion.
type DeleteRequest struct {
	Owner
}

// Result tells how far a call of Apply or Delete came. It is valid also if the call returned an error.
type Result struct {
	// Inventory is the state of all dependents. The caller must persist it, and pass it to the next call.
	Inventory []*InventoryItem
	// Done means for Apply that all objects are ready or completed and nothing unwanted is left; for Delete
	// that nothing is left at all.
	Done bool
	// Wave is the apply or delete order at which the call stopped; meaningful only if not Done.
	Wave int
	// WaveSize is the number of dependents in that wave.
	WaveSize int
	// Waits lists what is awaited, sorted by object; empty if Done.
	Waits []Notice
	// Failures lists dependents that have failed, and will not become ready unless somebody intervenes.
	Failures []Notice
	// Drift lists dependents that others changed and that were not corrected (because DriftPolicyReport says so, or
	// because a fight over them is being backed off).
	Drift []Notice
	// Notes lists what the API server changed or warned about while objects were written.
	Notes []Notice
	// Actions lists what was done to dependents.
	Actions []Action
	// RequeueAfter is the time after which the call should be repeated even if no event arrives; zero if there is
	// nothing to do until an event.
	RequeueAfter time.Duration
}
