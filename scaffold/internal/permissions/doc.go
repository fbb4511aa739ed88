// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package permissions finds out which rights an operator needs for the dependents of its components.
//
// Objects depend on values. So the manifests are rendered, without a cluster, with the given values, with each boolean among these turned, with each optional
// value set, and with all of that together. The rules are for all objects that were rendered, in all namespaces. What cannot be known that way is named.
package permissions
