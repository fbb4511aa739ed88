// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package values brings the parameters of a component into the plain form that charts and templates are rendered with.
package values
