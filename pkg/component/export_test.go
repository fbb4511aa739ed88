// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

// Install is what the external tests need: they import API types, which import this package.
var Install = install
