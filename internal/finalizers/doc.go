// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package finalizers tells the finalizers of an operator, those of its former versions included, from those of others.
package finalizers
