// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"strconv"
	"strings"
)

// Progress is how an operation stands at one moment.
type Progress struct {
	// Operation is what is being done: apply, rollback, heal, delete, test, adopt, orphan, move, wait.
	Operation string
	// Release is namespace and name.
	Release string
	// Revision of the release; 0 if the operation makes none.
	Revision int64
	// Objects are all dependents in the order of their waves, including those that are deleted or released meanwhile.
	Objects []Dependent
	// Phase says what is going on: "waiting for the lock held by ...", "applying wave 2 of 5".
	Phase string
	// Writing means that objects have been written since the operation waited for what the phase says.
	Writing bool
	// Message says what else should be known now, such as an error that is being retried; may be empty.
	Message string
}

// title names the operation.
func (s Progress) title() string {
	title := strings.TrimSpace(s.Operation + " " + s.Release)
	if s.Revision != 0 {
		title += " revision " + strconv.FormatInt(s.Revision, 10)
	}
	return title
}

// namesIn returns the names of the dependents for a terminal in which a name has that many cells.
func namesIn(state Progress, room int) *Names {
	namespace, _, _ := strings.Cut(state.Release, "/")
	names := NewNames(room, namespace)
	for _, object := range state.Objects {
		names.Include(object)
	}
	return names
}

// word is what programs are told of a state.
func word(state State) string {
	switch {
	case state == StateUnready:
		return "unready"
	case state.IsDone():
		return "done"
	default:
		return string(state)
	}
}

// because is why a dependent waits or has failed, to follow upon the label, which it does not repeat.
func because(d Dependent) string {
	reason := Clean(d.Message)
	rest, repeats := strings.CutPrefix(reason, d.Label())
	if reason == "" || repeats && (rest == "" || strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, " (")) {
		return rest
	}
	return ": " + reason
}
