// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package warmup has the dependents of components observed before anybody works on them, so that whoever takes over finds everything in memory.
//
// # Contract
//
// A warmup goes by what the statuses of components record, and by nothing else: it runs on replicas that do not work on them. It ends some time
// after the election of its process, when the passes of the components have asked for the kinds themselves. A status can be forged; so how many kinds are
// watched for it is bounded.
package warmup
