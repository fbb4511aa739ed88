// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package digest computes the stable hashes that identify contents and owners. They
// are persisted in clusters, so the hash of an input must never change.
package digest
