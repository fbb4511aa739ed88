// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package display has what clm shows of the objects of a release: how they stand, what an operation does to them while
// it runs, and how manifests differ.
package display
