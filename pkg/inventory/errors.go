// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// RefusedError says that objects cannot be accepted. The objects that it names were not written; if the objects
// contradict each other, or an annotation is invalid, none was. Retrying is useless until the input, or the object of
// the other owner, changes.
type RefusedError struct {
	// Problems are texts that name object, field, value, and what is allowed; sorted.
	Problems []string
	// Foreign means that the objects are fine, and every problem is an existing object of another owner that the
	// adoption policy protects.
	Foreign bool
	// Rejected means that every problem is an object that the API server has rejected.
	Rejected bool
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

// FencedError ends a call because Owner.Fence, Owner.Confirm or ApplyRequest.AfterWave returned an error. Earlier
// requests of the call stand.
type FencedError struct {
	// Reason is the error that Fence, Confirm or AfterWave returned.
	Reason error
}

// Error returns the reason.
func (e *FencedError) Error() string { return fmt.Sprintf("the call was stopped: %s", e.Reason) }

// Is reports whether the reason is the error. The reason is not unwrapped: an error that the API server returned about
// a lease, for example, must not be taken for one about a dependent.
func (e *FencedError) Is(err error) bool { return errors.Is(e.Reason, err) }

// StaleError ends a call of Apply because it would do something else than planned. If that was clear from the
// beginning, nothing was written; otherwise an object changed while the call was about to write it, and earlier writes
// stand.
//
// An object counts as changed if it was created again, or if others changed or removed fields that we own (any field,
// if we own none). Where field ownership is not tracked, its generation counts. A change of the status does not count.
type StaleError struct {
	// Changes are texts that name the object and what differs; sorted.
	Changes []string
}

// Error returns the changes, separated by semicolons.
func (e *StaleError) Error() string {
	return "the plan is outdated: " + strings.Join(e.Changes, "; ")
}
