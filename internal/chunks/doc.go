// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package chunks keeps what is too large for one object in several ConfigMaps or Secrets.
//
// # Contract
//
// The caller has a list of items, spreads it over contents ([Spread]), writes these as chunks ([Store.Write]), and then refers
// to them by name in an object of its own, the reference; only what the reference names counts. A chunk is
// named after its content, immutable, and never overwritten. So a process that dies between any two requests leaves a reference
// all of whose chunks exist, and at worst chunks that nobody refers to.
//
// Chunks that are not referred to are removed by [Store.Remove]. Several processes may do all of this at the same time, provided
// that each of them
//   - guards its writes of the reference by the version that it has read,
//   - changes the reference before it removes chunks, and removes only those that it had seen before that, and
//   - trusts in the existence of those chunks only which the reference names that its write is guarded by.
//
// Then whoever is going to refer to a chunk that somebody else is about to remove has either looked at the chunk after
// it was seen, by which Write spoils the removal, or is refused when it writes the reference.
package chunks
