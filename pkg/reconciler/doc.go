// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package reconciler is the engine: it applies a set of objects, the dependents of one owner, to a cluster, and keeps
// them there according to their policy annotations.
//
// # Contract
//
// Apply and Delete take the inventory that the previous call returned and return the next one. The inventory is the
// only memory that matters: the engine records an object, and hands the inventory to the Store, before the first
// request that could create the object. A process that dies between any two requests loses nothing; the next call with
// the last saved inventory continues. Everything else that a Reconciler remembers (how often an object drifted, which
// objects were verified recently) only saves requests.
//
// A call does as much as it can without waiting, and reports what it waits for. It does not poll: the caller calls
// again when its subscription reports a change (see Reconciler.Subscribe), or when Result.RequeueAfter has passed.
//
// A Reconciler watches the kinds of its owners' dependents, each kind once for all owners, and keeps only the parts of
// each object that decisions need. Reconcilers that write to the same cluster as different identities can share these
// watches; see Reconciler.As.
//
// Plan returns the changes that Apply would make, by the same rules, and changes nothing. Apply follows the plan in
// ApplyRequest.Expected, if there is one.
//
// Every write is guarded by the observed UID and resource version, so that two instances of an operator that run at
// the same time cannot overwrite each other with outdated content. A create has no such guard; therefore an object
// that was written before and has vanished is created again only after Owner.Confirm.
//
// Deleting a CustomResourceDefinition deletes its instances. Before the engine deletes one, it creates a
// ValidatingAdmissionPolicy, the barrier, that denies new instances; see LiftBarriers for what callers must do. If the
// client may not create such policies, Result.Notes reports that there was no barrier.
//
// The engine is independent of components, charts and releases.
package reconciler
