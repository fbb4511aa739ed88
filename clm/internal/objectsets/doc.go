// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package objectsets looks at ObjectSets and at the deployments that make them, and rolls deployments back. The
// operator in the cluster does the work: this package writes nothing but spec.rollbackTo.
package objectsets
