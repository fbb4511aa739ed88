// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package guard determines which objects the deletion of dependents would destroy, and denies new instances of types
// that are being deleted: the barrier of a CustomResourceDefinition.
package guard
