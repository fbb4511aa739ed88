// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package progress

import "maps"

// history remembers what was said last.
type history struct {
	phase, message string
	objects        map[Key]Object
}

// A change is an object as it was and as it is. An object that is seen for the first time was the zero value.
type change struct {
	before, after Object
	isNew         bool
}

// advance returns what has changed since the last call. An object that is missing in the state is forgotten.
func (h *history) advance(state State) (phase, message bool, changes []change) {
	phase, message = state.Phase != h.phase, state.Message != h.message
	h.phase, h.message = state.Phase, state.Message
	if h.objects == nil {
		h.objects = make(map[Key]Object, len(state.Objects))
	}
	for _, object := range state.Objects {
		if before, known := h.objects[object.Key]; !known || !before.sameAs(object) {
			changes = append(changes, change{before: before, after: object, isNew: !known})
			h.objects[object.Key] = object
		}
	}
	if len(h.objects) > len(state.Objects) {
		h.forget(state.Objects)
	}
	return phase, message, changes
}

// forget keeps nothing but these objects.
func (h *history) forget(but []Object) {
	left := make(map[Key]bool, len(but))
	for _, object := range but {
		left[object.Key] = true
	}
	maps.DeleteFunc(h.objects, func(key Key, _ Object) bool { return !left[key] })
}

// sameAs compares what is said about an object.
func (o Object) sameAs(other Object) bool {
	return o.sameButWait(other) && o.Wait == other.Wait
}

// sameButWait tells whether at most the reason for waiting has changed, not that there is one.
func (o Object) sameButWait(other Object) bool {
	return o.Phase == other.Phase && o.Status == other.Status && o.Failed == other.Failed && o.Verb == other.Verb &&
		o.Wave == other.Wave && (o.Wait == "") == (other.Wait == "")
}
