// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package barriers keeps instances of a type from being created while the CustomResourceDefinition that defines it is being deleted, by a
// ValidatingAdmissionPolicy. Otherwise they would be lost with it.
package barriers
