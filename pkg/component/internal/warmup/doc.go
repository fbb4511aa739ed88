// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package warmup watches the dependents of components before their first pass, so that a replica that takes over has
// them in memory.
//
// # Contract
//
// A warmup uses only what the statuses of components record, because it runs on replicas that do not reconcile them. It
// ends some time after the election of its process, when the passes of the components have asked for the kinds
// themselves. A status can be forged; so the number of kinds is limited.
package warmup
