// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package gogc is imported for its effect: unless GOGC is set, the garbage collector keeps the heap small, which large charts would make several times as large as
// what is in use, but does not run while the heap is smaller than 8 MiB, as in most commands.
//
// The package depends on the standard library only, so that it takes effect before most other packages are initialized, which allocate a lot.
package gogc
