// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
)

// lastApplied is where kubectl keeps the manifest: of a Secret, its values.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// housekeeping are the fields of metadata that the server writes.
var housekeeping = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}

// prepare returns what is to be compared, without touching the object.
func (w *writer) prepare(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	object = maps.Clone(object)
	delete(object, "status")
	metadata, ok := object["metadata"].(map[string]any)
	if ok {
		metadata = maps.Clone(metadata)
		for _, field := range housekeeping {
			delete(metadata, field)
		}
		object["metadata"] = metadata
	}
	if object["apiVersion"] != "v1" || object["kind"] != "Secret" || w.ShowSecrets {
		return object
	}
	w.masks.values(object, "data", func(value string) string {
		if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
			return string(decoded)
		}
		return value
	})
	plain := func(value string) string { return value }
	w.masks.values(object, "stringData", plain)
	if annotations, ok := metadata["annotations"].(map[string]any); ok && annotations[lastApplied] != nil {
		annotations = maps.Clone(annotations)
		annotations[lastApplied] = w.masks.mask(annotations[lastApplied], plain)
		metadata["annotations"] = annotations
	}
	return object
}

// masked stands for a secret value.
type masked string

// masks numbers the values that were seen. A number says nothing about the value, whereas a digest of a short one tells it
// to whoever tries enough of them.
type masks map[string]int

// values masks the values of one field, whatever it is.
func (m masks) values(object map[string]any, field string, decode func(string) string) {
	switch value := object[field].(type) {
	case nil:
	case map[string]any:
		values := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			values[key] = m.mask(value[key], decode)
		}
		object[field] = values
	default:
		object[field] = m.mask(value, decode)
	}
}

// mask shows length and identity of a value.
func (m masks) mask(value any, decode func(string) string) masked {
	text, ok := value.(string)
	if ok {
		text = decode(text)
	} else {
		text = fmt.Sprint(value)
	}
	number, known := m[text]
	if !known {
		number = len(m) + 1
		m[text] = number
	}
	unit := "bytes"
	if len(text) == 1 {
		unit = "byte"
	}
	return masked(fmt.Sprintf("*** (%d %s, #%d)", len(text), unit, number))
}
