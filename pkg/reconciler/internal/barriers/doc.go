// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package barriers denies creating instances of a type while its CustomResourceDefinition is being deleted, by a
// ValidatingAdmissionPolicy. Such instances would be lost with the CustomResourceDefinition.
package barriers
