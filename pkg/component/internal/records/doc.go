// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package records stores the inventory of a component: in its status, or beside it if it is too large. It also stores
// the deletion hooks of a component, and runs them when the component is deleted.
//
// # Contract
//
// An inventory has one of three forms: a list in the status, a packed (compressed) list in the status, or chunks,
// ConfigMaps that the status refers to. It moves to the next larger form when it reaches a limit, and back once it is
// below half of that limit.
//
// Chunks are written before the status refers to them. They are removed after the status has dropped them, and only in
// the state in which they were read before that write. A process may die between any two requests: the next one finds
// its leftovers.
//
// The status has a mark with the number of dependents. So an inventory that a user has emptied or shortened is not
// mistaken for a complete one. Before anything depends on the inventory, missing items are rebuilt from the labels of
// dependents.
//
// While a component is being deleted, its record does not shrink: items that are already gone do no harm, and no chunk
// can be created in a namespace that is being deleted as well.
//
// # Deletion hooks
//
// Hooks are stored in Secrets before the first dependent is written, because their sources may be gone when the
// component is deleted. The status refers to these Secrets: it gets the field before the first Secret exists, and loses
// it after the last one is gone.
//
// Hooks are applied with the permissions of the operator. A user who may write the status and some Secret must not gain
// these permissions. So an annotation of the component has the checksum of the stored hooks: changing it takes the
// permission to change the component, and with it its spec.
//
// Package deletionhooks describes the role of hooks in a deletion.
package records
