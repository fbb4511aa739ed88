// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package observe sees dependents of many owners in one cluster without a request per object.
//
// A Cache holds one watch per kind, filtered by the label that marks dependents, shared by all owners, started when the
// first owner needs the kind and stopped after the last one has gone. Of each object it keeps only an Observation: what
// decisions need. Whenever an observation changes, the owner is notified.
//
// Two facts bound what a Cache can prove. It may be older than a write of ours; so the responses of writes are
// recorded, and the newer of both counts. And it sees only labelled objects; so the absence of an object means that it
// is gone or lost its label, and only the server can tell which.
package observe
