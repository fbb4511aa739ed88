// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package queue decides in which order, how often, and how long components are reconciled.
//
// # Contract
//
// A component that has waited for LongestWait comes before all that become due later. Other objects cause at most one
// pass per second in the long run.
//
// A pass ends after LongestPass, and the next one continues. At most half of a controller's workers wait for slow
// clusters; a component without a place tries again later. A cluster that becomes slow keeps the workers that are
// waiting for it, each for one pass.
package queue
