// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// RefusedError is returned if objects cannot be accepted as they are. The objects that it names were not written; if
// the set of objects contradicts itself, or an annotation is bad, nothing at all was written. Retrying is useless
// until the input, or the foreign object that is named, changes.
type RefusedError struct {
	// Problems are texts that name object, field, value, and what is allowed; sorted.
	Problems []string
	// Foreign means that there is nothing wrong with the objects: all problems are objects of others that adoption policies protect.
	Foreign bool
}

// Error returns the problems, separated by semicolons.
func (e *RefusedError) Error() string {
	return strings.Join(e.Problems, "; ")
}

// NewRefusedError returns an error with the problems, sorted, each once.
func NewRefusedError(problems ...string) *RefusedError {
	slices.Sort(problems)
	return &RefusedError{Problems: slices.Compact(problems)}
}

// FencedError ends a call because Owner.Fence or Owner.Confirm said that it must not go on. What was requested before stands.
type FencedError struct {
	// Reason is what Fence or Confirm returned.
	Reason error
}

// Error returns the reason.
func (e *FencedError) Error() string { return fmt.Sprintf("the call may not go on: %s", e.Reason) }

// Is reports whether the reason is the error. The reason is not unwrapped further: what a server has said about a lease, say, must
// not be taken for what it says about a dependent.
func (e *FencedError) Is(err error) bool { return errors.Is(e.Reason, err) }

// StaleError ends a call of Apply because what it would do is not what was planned. If that was so from the beginning, nothing was
// written; otherwise an object changed while the call was about to write it, and what was done before stands.
//
// An object has changed if it is another one, or if others changed or removed fields that we own (of an object of which we own
// nothing: any field). Where field ownership is not tracked, its generation counts. A change of the status is none.
type StaleError struct {
	// Changes are texts that name the object and what differs; sorted.
	Changes []string
}

// Error returns the changes, separated by semicolons.
func (e *StaleError) Error() string {
	return "the plan does not fit any more: " + strings.Join(e.Changes, "; ")
}
