// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package progress shows a running operation. It is told how things stand, in a [State], whenever something has
// changed, and finds out by itself what is worth saying: a [Printer] redraws a view on a terminal, adds lines to a log,
// or emits events for programs.
//
// # Events
//
// In mode [ModeJSON] each line is one JSON object with at least time (RFC 3339, UTC) and type, which is one of
//
//   - phase: the operation came to a new phase, or has a new message, or has it no longer.
//     Fields operation, release, revision, phase, message.
//   - object: a dependent was seen for the first time, or has changed in more than the reason why it is not ready.
//     Fields object, wave, state, phase, status, verb, reason.
//   - wait: the reason why a dependent is not ready has changed, and nothing else. Same fields.
//   - done, failed: the operation has ended; nothing follows. Fields operation, release, revision, message, summary, next, notes.
//
// The field object has the fields apiVersion, kind, namespace and name. The state of a dependent is one of pending (its
// turn has not come), unready, done and failed; phase and status are those of the inventory; verb is what was done to it,
// in the words of the engine (Created, Adopted, ...). Fields without a value are left out, except wave and revision.
// Types of events, and fields, may be added, and readers ignore those that they do not know; none is removed or gets
// another meaning.
package progress
