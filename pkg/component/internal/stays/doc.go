// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package stays limits how long one pass takes, and how long it works with a cluster that answers slowly.
//
// # Contract
//
// A pass ends after visits.LongestPass, and the next one continues. Only some of a controller's workers may wait for slow clusters. A pass that
// exceeds their number ends, and says which cluster did not answer last.
package stays
