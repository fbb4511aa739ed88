// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package targets turns objects into targets: normalised manifests with all that can be known about them before looking at the cluster, such as their
// digest, policies and stage. Of the cluster, it asks only which types there are.
package targets
