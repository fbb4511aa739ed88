// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog knows what a cluster of plain Kubernetes serves, for those who render without having one.
package catalog
