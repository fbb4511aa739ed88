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
// clusters. A pass that exceeds their number ends, and says which cluster did not answer last.
//
// # Warmup
//
// A [Warmup] watches the dependents of components before their first pass, so that a replica that takes over has
// them in memory.
//
// A warmup uses only what the statuses of components record, because it runs on replicas that do not reconcile them. It
// ends some time after the election of its process, when the passes of the components have asked for the kinds
// themselves. A status can be forged; so the number of kinds is limited.
package queue
