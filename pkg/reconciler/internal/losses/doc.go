// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package losses finds out what the deletion of dependents would destroy: instances of the types that they define, the content of namespaces, the data
// of claims. It changes nothing.
package losses
