// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Decode decodes JSON. Numbers stay as they are written.
func Decode(content []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	// The component's own numbers may not survive as floats.
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// bookkeeping has the fields whose change alone does not justify a request.
var bookkeeping = []string{"lastObservedAt", "lastAppliedAt"}

// Same reports whether two statuses are equal, apart from times of observation.
func Same(a, b map[string]any) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	for _, field := range bookkeeping {
		delete(a, field)
		delete(b, field)
	}
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

// MergePatch returns the JSON merge patch from one value to another. It replaces lists as a whole.
func MergePatch(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key, value := range to {
		old, exists := from[key]
		if exists && reflect.DeepEqual(old, value) {
			continue
		}
		oldMap, oldIsMap := old.(map[string]any)
		newMap, newIsMap := value.(map[string]any)
		if oldIsMap && newIsMap {
			patch[key] = MergePatch(oldMap, newMap)
			continue
		}
		patch[key] = value
	}
	for key := range from {
		if _, exists := to[key]; !exists {
			patch[key] = nil
		}
	}
	return patch
}

// Dropped returns the paths of fields that were sent and are not in the response, sorted and without indices, such as
// status.inventory[].uid.
func Dropped(sent, received any, path string) []string {
	found := map[string]bool{}
	collectDropped(sent, received, path, found)
	return slices.Sorted(maps.Keys(found))
}

// Without returns the fields that are not among the others.
func Without(fields, others []string) []string {
	return slices.DeleteFunc(fields, func(field string) bool { return slices.Contains(others, field) })
}

func collectDropped(sent, received any, path string, found map[string]bool) {
	switch sent := sent.(type) {
	case json.RawMessage:
		back, _ := received.(json.RawMessage)
		if bytes.Equal(sent, back) {
			return
		}
		// Decoding cannot fail: both were encoded a moment ago.
		decoded, _ := Decode(sent)
		other, _ := Decode(back)
		collectDropped(decoded, other, path, found)
	case map[string]any:
		other, _ := received.(map[string]any)
		for key, value := range sent {
			if value == nil {
				continue
			}
			if back, exists := other[key]; exists {
				collectDropped(value, back, path+"."+key, found)
				continue
			}
			found[path+"."+key] = true
		}
	case []any:
		other, _ := received.([]any)
		for i, value := range sent {
			if i < len(other) {
				collectDropped(value, other[i], path+"[]", found)
			}
		}
	}
}
