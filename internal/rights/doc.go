// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package rights computes the RBAC rules that a reconciler needs for given objects.
//
// The rules are for kinds, not for single objects, so they stay right if there is another object of a kind. They are
// for single namespaces where possible: a Role can exist only if its namespace does. Objects in namespaces that are
// themselves among the objects need rules for the whole cluster.
package rights
