// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"maps"

	"github.com/component-operator/runtime/internal/redact"
)

// housekeeping are the fields of metadata that the server writes.
var housekeeping = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}

// prepare returns what is to be compared, without touching the object.
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
	return redact.Secret(object, func(value string) any { return w.masks.mask(value) })
}

// masked stands for a secret value.
type masked string

// masks numbers the values that were seen. A number says nothing about the value, whereas a digest of a short one tells it
// to whoever tries enough of them.
type masks map[string]int

// mask shows length and identity of a value.
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
	return masked(fmt.Sprintf("%s (%d %s, #%d)", redact.Mark, len(text), unit, number))
}
