// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package rights computes the RBAC rules that a reconciler needs for given objects.
//
// The rules are for kinds and not for single objects, so that they stay right if there is another object of a kind.
// They are for namespaces where that is possible: a Role can be there only if its namespace is. Objects in namespaces
// that are themselves among the objects need rules for the whole cluster.
package rights
