// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package gogc is imported for its effect: garbage is collected less often than usual, unless the user says how often, and not at all before the
// heap has 64 MiB. Most commands end before that, and share processors with those who wait for them.
//
// As it depends on the standard library only, it takes effect before most other packages are initialized, which allocate a good deal.
package gogc
