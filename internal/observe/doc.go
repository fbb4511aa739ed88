// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package observe watches the dependents of many owners in one cluster.
//
// A Cache holds one watch per kind, filtered by the owner label and shared by all owners. The watch starts when the
// first owner needs the kind and stops after the last one. Of each object, the Cache keeps only an Observation: the
// parts that decisions need. It notifies the owner whenever an observation changes.
//
// A Cache cannot prove everything. It may be older than our own last write; so the responses of writes are recorded,
// and the newer of both counts. And it sees only labeled objects; so the absence of an object means that it is gone or
// has lost its label, and only the server knows which.
//
// A ReferenceWatcher reads Secrets and ConfigMaps that components refer to, and notices when they change. For each
// namespace in use and each of the two kinds there is one watch, of metadata only: no Secret is transferred unless a
// component refers to it. Content is read on demand, and again only after the watch has reported another resource
// version. Without the permission to watch, content is read each time.
package observe
