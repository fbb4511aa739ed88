// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package stays bounds what one pass waits for: its time as a whole, and its stay with a cluster that answers slowly.
//
// # Contract
//
// A pass ends after visits.LongestPass, and is continued by the next one. Of the workers of a controller, only some may wait for clusters that are slow; a pass
// that would be one too many ends, and says which cluster did not answer the last time.
package stays
