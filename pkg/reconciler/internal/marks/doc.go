// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package marks has the labels and annotations by which a reconciler recognizes its dependents.
package marks
