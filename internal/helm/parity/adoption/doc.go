// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package adoption tests, with Helm's own packages, how releases of Helm become releases of clm, and how they return.
//
// TestWeek does that and more with a chart of the size of a monitoring stack. What clm prints is in testdata/week, for
// people to read; the flag -update writes it.
package adoption
