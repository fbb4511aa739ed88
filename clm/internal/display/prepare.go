// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"maps"

	"github.com/component-operator/runtime/internal/texts"
)

// housekeeping are the metadata fields that only the server writes.
var housekeeping = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}

// prepare returns the part of the object that is compared. It does not modify the object.
func (w *writer) prepare(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	object = maps.Clone(object)
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, field := range housekeeping {
			delete(metadata, field)
		}
		object["metadata"] = metadata
	}
	if w.ShowSecrets {
		return object
	}
	return texts.Secret(object, func(value string) any { return w.masks.mask(value) })
}

// masked stands for a secret value.
type masked string

// masks numbers the values that occur. A number reveals nothing about a value, whereas a short value can be guessed
// from its digest.
type masks map[string]int

// mask shows the length and the number of a value.
func (m masks) mask(text string) masked {
	number, known := m[text]
	if !known {
		number = len(m) + 1
		m[text] = number
	}
	unit := "bytes"
	if len(text) == 1 {
		unit = "byte"
	}
	return masked(fmt.Sprintf("%s (%d %s, #%d)", texts.Mark, len(text), unit, number))
}
