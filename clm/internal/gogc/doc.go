// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package gogc sets the garbage collector when it is imported: the collector keeps less garbage than by default, because a large chart makes much of it, and does not run
// while the heap is smaller than 3 MiB. KeepMore lets it keep about 3 MiB more. Nothing is changed if GOGC or GOMEMLIMIT is set.
//
// The package depends on the standard library only, so that it takes effect before most other packages are initialized, which allocate a lot.
package gogc
