// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest converts YAML documents to objects like Kubernetes does, refuses documents that are not objects or
// would take too much memory, and converts values to the plain form that charts, templates and unstructured objects
// need.
//
// # Digests
//
// Digests are stable hashes that identify contents and owners. They are persisted in clusters, so the hash of an input
// must never change.
package manifest
