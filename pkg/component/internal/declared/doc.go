// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package declared finds out what a component declares: its spec with the content of the references in it, and a digest of all that.
//
// # Contract
//
// What is not there yet is awaited. While a component is being deleted, only what leads to the target is required; other references are loaded as
// far as they exist, and only if somebody might look at them.
//
// A digest that is recorded does not tell whether a guess about the content of a Secret is right; see secretUIDs.
package declared
