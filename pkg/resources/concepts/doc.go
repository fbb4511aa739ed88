// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package concepts has the words in which typed resources talk about themselves: statuses with reasons, the interfaces
// that a resource may implement, and the typed values that flow from one resource to another.
//
// A resource implements exactly one of [Alive], [Completable] and [Operational], or none of them; then the judge of the
// component decides whether it is ready.
package concepts
