// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package threeway

import "bytes"

// Action is what happens to a file.
type Action string

// Actions.
const (
	// Keep leaves the file as it is, because there is nothing to bring in.
	Keep Action = "keep"
	// Take writes the template's file.
	Take Action = "take"
	// Remove removes the file.
	Remove Action = "remove"
	// Merge means that both sides changed the file.
	Merge Action = "merge"
	// Leave means that people have removed the file; it stays removed.
	Leave Action = "leave"
	// Conflict means that the file stays as it is, although the template says something else.
	Conflict Action = "conflict"
)

// Decide decides about a file: as the template had it then, as the template has it now, and as it is. A file that does not exist is nil.
func Decide(then, now, current []byte) Action {
	same := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
	switch {
	case same(then, now), same(now, current):
		return Keep
	case same(then, current) && now == nil:
		return Remove
	case same(then, current):
		return Take
	case current == nil:
		return Leave
	case then != nil && now != nil:
		return Merge
	default:
		return Conflict
	}
}
