// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package finalizers distinguishes an operator's finalizers, including those of its former versions, from all others.
package finalizers
