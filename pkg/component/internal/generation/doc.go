// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generation calls generators, and uses their results again.
//
// # Contract
//
// The result of a pure generator is used again until something changes that it depends on, unless it has looked into a cluster. What it has looked at of
// the types of the cluster is part of what it depends on.
package generation
