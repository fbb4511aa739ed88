// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package shards distributes work over the replicas of an operator. The work is divided into a fixed number of shards;
// one replica at a time holds a shard.
//
// There are two kinds of leases. Each replica renews its own member lease, which shows the others that it is alive.
// From the set of live replicas, each replica computes its shards; all compute the same assignment, which changes as
// little as possible when a replica joins or leaves. Each shard has a lease too; a replica must hold it before it
// starts work, and releases it when all its work on the shard has ended.
//
// A lease is no fence: a replica may be paused between checking the time and sending a request, for longer than the
// lease lasts. A [Tenure] reports, right before a request is sent, whether the lease was valid a moment ago; the
// request must also be guarded by an earlier observation, such as the resource version of an object.
package shards
