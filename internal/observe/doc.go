// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package observe watches the dependents of many owners in one cluster.
//
// A Cache holds one watch per kind, filtered by the owner label and shared by all owners. The watch starts when the first owner
// needs the kind and stops after the last one. Of each object, the Cache keeps only an Observation: what decisions need. It notifies
// the owner whenever an observation changes.
//
// A Cache cannot prove everything. It may be older than our own last write; so the responses of writes are recorded, and the newer of
// both counts. And it sees only labelled objects; so the absence of an object means that it is gone or has lost its label, and only the
// server can tell which.
package observe
