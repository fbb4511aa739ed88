// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest turns YAML documents into objects as Kubernetes does, refuses documents that are no objects or that
// would take too much memory, and converts values to the plain form that charts, templates and unstructured objects
// need.
//
// # Digests
//
// Digests are the stable hashes that identify contents and owners. They are persisted in clusters, so the hash of an
// input must never change.
package manifest
