// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package reconciler is the engine: it brings a set of objects, the dependents of one owner, into a cluster
// and keeps them there, as the policy annotations on them say.
//
// # Contract
//
// Apply and Delete take the inventory that the previous call returned and return the next one. The inventory is
// the only memory that matters: an object is recorded, and the record handed to the Store, before the first
// request that could create it. A process that dies between any two requests loses nothing; the next call with
// the last saved inventory continues. Everything else that a Reconciler remembers (how often an object drifted,
// which objects were verified recently) only saves requests.
//
// A call goes as far as it can and returns what it waits for. It does not poll: the caller calls again when it is told that
// something has changed (see Reconciler.Subscribe), or when Result.RequeueAfter has passed.
//
// A Reconciler watches the kinds of the dependents that its owners have, each once for all owners, and keeps of each object what
// decisions need. Reconcilers for the same cluster that write as different identities share that; see Reconciler.As.
//
// Plan says what Apply is going to do, by the same rules, and changes nothing. Apply keeps to a plan if it is given one.
//
// Every write is guarded by the UID and the resource version on which it was decided, so that two instances of
// an operator that work at the same time cannot undo each other's work with outdated content. A create has nothing to be
// guarded by; so an object that was written before and has vanished is created again only after Owner.Confirm.
//
// A CustomResourceDefinition takes its instances with it. While one is about to be deleted, a ValidatingAdmissionPolicy, the barrier, denies creating
// instances; see LiftBarriers for what callers have to do about it. It needs the right to create such policies; without,
// Result.Notes says that there was no barrier.
//
// The engine knows nothing about components, charts or releases.
package reconciler
