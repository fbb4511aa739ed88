// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcestest checks what the package of each kind promises: how objects are judged, what suspends them, which objects are refused, what the methods of the mutator do,
// and in which order. Import it in tests only.
package resourcestest
