// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"maps"
)

// history remembers what was said last.
type history struct {
	phase, message string
	objects        map[Object]Dependent
}

// A change is an object as it was and as it is. An object that is seen for the first time was the zero value.
type change struct {
	before, after Dependent
	isNew         bool
}

// advance returns what has changed since the last call. An object that is missing in the state is forgotten.
func (h *history) advance(state Progress) (phase, message bool, changes []change) {
	phase, message = state.Phase != h.phase, state.Message != h.message
	h.phase, h.message = state.Phase, state.Message
	if h.objects == nil {
		h.objects = make(map[Object]Dependent, len(state.Objects))
	}
	for _, object := range state.Objects {
		if before, known := h.objects[object.Object]; !known || !isSame(before, object) {
			changes = append(changes, change{before: before, after: object, isNew: !known})
			h.objects[object.Object] = object
		}
	}
	if len(h.objects) > len(state.Objects) {
		h.forget(state.Objects)
	}
	return phase, message, changes
}

// forget keeps nothing but these objects.
func (h *history) forget(but []Dependent) {
	left := make(map[Object]bool, len(but))
	for _, object := range but {
		left[object.Object] = true
	}
	maps.DeleteFunc(h.objects, func(object Object, _ Dependent) bool { return !left[object] })
}

// isSame compares what is said about an object.
func isSame(a, b Dependent) bool { return isSameButMessage(a, b) && a.Message == b.Message }

// isSameButMessage reports whether at most the reason for waiting has changed, not that there is one.
func isSameButMessage(a, b Dependent) bool {
	return a.Phase == b.Phase && a.Status == b.Status && a.State == b.State && a.Verb == b.Verb && a.Wave == b.Wave && (a.Message == "") == (b.Message == "")
}
