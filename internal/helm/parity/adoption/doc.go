// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package adoption tests, with Helm's own packages, how releases of Helm become releases of clm, and how they return.
package adoption
