// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package objects identifies the objects that releases have to do with, and names them for people.
//
// # Contract
//
// A Key is the same for every version by which an object is served, and is good for comparisons and maps. Its text is what messages say, and
// leaves out the version, too. Nothing here makes requests, except that a mapper may discover a type that it does not know.
package objects
