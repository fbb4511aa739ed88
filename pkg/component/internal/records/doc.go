// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package records stores the inventory of a component: in its status, or beside it if it is too large.
//
// # Contract
//
// An inventory is a list in the status, or in chunks: ConfigMaps that the status refers to. It moves to chunks when it
// reaches a limit, and back once it is below half of that limit.
//
// Chunks are written before the status refers to them. They are removed after the status has dropped them, and only in
// the state in which they were read before that write. A process may die between any two requests: the next one finds
// what it has left behind.
//
// The status has a mark with the number of dependents. So an inventory that a user has emptied or shortened is not
// mistaken for a complete one. Before anything depends on the inventory, missing items are rebuilt from the labels of
// dependents.
//
// While a component is being deleted, its record does not shrink: items that are already gone do no harm, and no chunk
// can be created in a namespace that is being deleted as well.
package records
