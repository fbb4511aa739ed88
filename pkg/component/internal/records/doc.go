// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package records keeps the inventory of a component: in its status, or beside it if it is too large for that.
//
// # Contract
//
// An inventory has one of three forms: a list in the status, a compressed value in the status, or chunks in ConfigMaps to which the status refers.
// The next larger form is taken from a limit on, the smaller one again below half of it. Chunks are written before the status refers to them, and removed when
// it does not any more; which ones are removed was seen before. A process may die between any two requests: whatever it leaves behind is
// found by the next one.
//
// The status has a mark that says how many dependents there are, so that an inventory that somebody has emptied or shortened is not taken for a complete
// one. What is missing is rebuilt from the labels of dependents before anything depends on it.
//
// While a component is being deleted its record stays as it is: that more is recorded than there is does no harm, and no chunk can be
// written in a namespace that is being deleted, too.
package records
