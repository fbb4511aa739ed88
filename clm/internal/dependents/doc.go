// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package dependents holds the dependents of a release as clm shows them.
//
// # Contract
//
// All commands show dependents from one model:
//
//   - An [Object] is the identity, with the version, as programs see it. Its [Key] is the same for all versions, and is what comparisons and maps use.
//     [Text] is the only way in which messages name an object.
//   - A [Dependent] is one value for each object: wave, phase, status, message, verb, age, and the [State], which says what these mean. Who builds it
//     decides on the state: a running operation by [StateInOperation], clm status and clm wait by looking at the cluster.
//   - A [Node] adds what one sees in the cluster: reasons, and what the object owns.
//   - [Names] names the objects of one table: in full for programs and logs, and short on a terminal.
//   - [Sort] puts dependents in order, and [Waves] groups them.
//
// The renderers are on top of it: [Write] for tables and trees, the waves of clm status, the frames, lines and events of package progress, and the JSON
// of the commands. Nothing here makes requests, except that a mapper may discover a type that it does not know.
package dependents
