// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package stays limits how long one pass takes, and how many workers wait for clusters that are slow or do not answer.
//
// # Contract
//
// A pass ends after LongestPass, and the next one continues. At most half of a controller's workers wait for slow
// clusters. A pass that exceeds their number ends, and says which cluster did not answer last.
package stays
