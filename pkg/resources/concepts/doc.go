// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package concepts defines what typed resources report about themselves: statuses with reasons, the interfaces that a
// resource may implement, and the typed values that one resource passes to another.
//
// A resource implements exactly one of [Alive], [Completable] and [Operational], or none of them; then the judge of the
// component decides whether it is ready.
package concepts
