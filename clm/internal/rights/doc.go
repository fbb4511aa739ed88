// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package rights says which RBAC rules somebody needs to work on a release that is made of given objects.
//
// The rules are for kinds and not for single objects, so that they stay right when the release gets another object of a kind. They
// are for namespaces where that is possible: a Role can be there only if its namespace is. What is in namespaces that come
// with the release needs rules for the whole cluster.
package rights
