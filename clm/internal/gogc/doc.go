// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package gogc is imported for its effect: the garbage collector runs less often than usual, unless GOGC is set, and not at all before the
// heap has 64 MiB. Most commands end before that, and share the processors with other programs.
//
// The package depends on the standard library only, so that it takes effect before most other packages are initialized, which allocate a lot.
package gogc
