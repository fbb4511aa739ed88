// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package shards spreads work over the replicas of an operator. The work is divided into a fixed number of shards; each shard
// is held by one replica at a time.
//
// Two kinds of leases are involved. Each replica keeps a lease of its own, by which the others see that it lives. From the
// set of those that live, each replica computes which shards are its own; all replicas come to the same result, and it changes as
// little as possible when one comes or goes. For each shard there is a lease, which a replica must hold before it begins, and which it
// gives back when all that it has begun has ended.
//
// A lease is no fence. Who holds it may be stopped between looking at the clock and sending a request, for longer than the lease
// lasts. A [Tenure] says, right before a request is sent, whether the lease was certainly valid a moment ago; what is sent then
// must in addition be guarded by what was observed before, such as the version of an object.
package shards
