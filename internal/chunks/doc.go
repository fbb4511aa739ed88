// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package chunks stores a list that is too large for one object in several ConfigMaps or Secrets, the chunks.
//
// # Contract
//
// The caller distributes a list of items over contents ([Spread]), or divides one content ([Divide]), writes the result
// as chunks ([Store.Write]), and then names the chunks in an object of its own, the reference. Only chunks that the
// reference names count. The name of a chunk is a hash of its content; a chunk is immutable and never overwritten. So a
// process that dies between any two requests leaves a reference whose chunks all exist, and at worst some chunks that
// no reference names.
//
// [Store.Remove] removes chunks that are no longer named. Several processes may do all of this at the same time,
// provided that each of them
//   - guards its writes of the reference by the resource version that it has read,
//   - changes the reference before it removes chunks, and removes only chunks that it observed before that, and
//   - assumes the existence only of chunks that are named by the reference which guards its write.
//
// Suppose that one process is about to name a chunk that another one is about to remove. Either the first process
// writes the chunk after the second has observed it: then Write changes the chunk, and the guarded removal fails. Or
// the reference has changed since the first process read it, and its write of the reference fails.
package chunks
