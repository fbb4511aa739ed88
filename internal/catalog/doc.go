// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog lists the types that a plain Kubernetes cluster serves, for rendering without a cluster.
package catalog
