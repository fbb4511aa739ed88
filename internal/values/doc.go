// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package values converts the parameters of a component to the plain form that charts and templates need.
package values
