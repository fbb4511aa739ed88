// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package packs stores the contents of revisions in few chunks.
//
// # Contract
//
// A [Catalog] says where contents are. Its owner records it in the reference that names the chunks; see package chunks. [Archive.Add] decides how a further content is stored,
// and writes nothing. The caller writes the chunks, then a reference with the catalog that [Catalog.Using] returns for the new packs, and then removes the chunks that this catalog
// does not name.
//
// A content is stored whole, or as the difference from one that is stored whole, its base. A further content adds one pack. If there are too many small packs then, one pack
// takes their place. All others stay as they are. What cannot be read is never merged or used as a base; so what is stored again has always been read.
//
// After Add, a catalog has at most one pack for each Small bytes that are needed, and SmallPacks more; Small and SmallPacks are those of the [Layout]. That does not count packs
// that cannot be read. If the catalog has fewer revisions later, it holds again after the next Add.
package packs
