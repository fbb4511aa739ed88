// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package reconciler is the engine: it applies a set of objects, the dependents of one owner, to a cluster, and
// keeps them there as their policy annotations say.
//
// # Contract
//
// Apply and Delete take the inventory that the previous call returned and return the next one. The inventory is
// only memory that matters: the engine records an object, and hands the inventory to the Store, before the first
// request that could create the object. A process that dies between any two requests loses nothing; the next call
// with the last saved inventory continues. Everything else that a Reconciler remembers (how often an object
// drifted, which objects were verified recently) only saves requests.
//
// A call goes as far as it can without waiting, and returns what it waits for. It does not poll: the caller calls
// again when its subscription reports a change (see Reconciler.Subscribe), or when Result.RequeueAfter has passed.
//
// A Reconciler watches the kinds of its owners' dependents, each kind once for all owners, and keeps only what
// decisions need of each object. Reconcilers that write to the same cluster as different identities can share
// these watches; see Reconciler.As.
//
// Plan says what Apply would do, by the same rules, and changes nothing. Apply keeps to a plan that it is given.
//
// Every write is guarded by the observed UID and resource version, so that two instances of an operator that run at
// the same time cannot overwrite each other with outdated content. A create has no such guard; therefore an object
// that was written before and has vanished is created again only after Owner.Confirm.
//
// Deleting a CustomResourceDefinition deletes its instances. Before the engine deletes one, it creates a
// ValidatingAdmissionPolicy, the barrier, that denies new instances; LiftBarriers says what callers must do about it.
// If the client may not create such policies, Result.Notes says that there was no barrier.
//
// The engine knows nothing about components, charts or releases.
package reconciler
