// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// inventoryField is the field of the status that is by far the largest. It is not taken apart unless it has to be.
const inventoryField = "inventory"

// recordField is the field that may take its place.
const recordField = "inventoryRecord"

// statusOf returns the status of a component as JSON has it, including what the component's own type adds to it. The inventory
// is a json.RawMessage; as it was encoded from the same Go type, equal inventories are the same text.
func statusOf(component Component) (map[string]any, error) {
	raw, err := json.Marshal(component)
	if err != nil {
		return nil, fmt.Errorf("encoding the component: %w", err)
	}
	var envelope struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return nil, fmt.Errorf("decoding the component: %w", err)
	}
	if envelope.Status == nil {
		return nil, nil
	}
	status := make(map[string]any, len(envelope.Status))
	for field, content := range envelope.Status {
		if field == inventoryField {
			status[field] = content
			continue
		}
		if status[field], err = decode(content); err != nil {
			return nil, fmt.Errorf("decoding the field %s of the status of the component: %w", field, err)
		}
	}
	return status, nil
}

func decode(content []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	// Numbers of the component's own may be larger than what survives as a float.
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

type statusEnvelope struct {
	Status map[string]any `json:"status"`
}

// setStatus replaces the status of a component by one that statusOf has returned.
func setStatus(component Component, status map[string]any) error {
	raw, err := json.Marshal(statusEnvelope{Status: status})
	if err != nil {
		return fmt.Errorf("encoding the status of the component: %w", err)
	}
	*component.GetStatus() = Status{}
	if err := json.Unmarshal(raw, component); err != nil {
		return fmt.Errorf("restoring the status of the component: %w", err)
	}
	return nil
}

// ourFields are the fields of Status.
var ourFields = func() []string {
	var names []string
	t := reflect.TypeFor[Status]()
	for i := range t.NumField() {
		names = append(names, jsonName(t.Field(i)))
	}
	return names
}()

// ours returns the part of a status that is Status.
func ours(status map[string]any) map[string]any {
	part := map[string]any{}
	for _, name := range ourFields {
		if value, exists := status[name]; exists {
			part[name] = value
		}
	}
	return part
}

// bookkeeping are fields whose change alone is not worth a request.
var bookkeeping = []string{"lastObservedAt", "lastAppliedAt"}

// sameStatus tells whether two statuses say the same; times of observation do not count.
func sameStatus(a, b map[string]any) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	for _, field := range bookkeeping {
		delete(a, field)
		delete(b, field)
	}
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

// mergePatch returns the JSON merge patch that leads from one value to another. Lists are replaced as a whole.
func mergePatch(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key, value := range to {
		old, exists := from[key]
		if exists && reflect.DeepEqual(old, value) {
			continue
		}
		oldMap, oldIsMap := old.(map[string]any)
		newMap, newIsMap := value.(map[string]any)
		if oldIsMap && newIsMap {
			patch[key] = mergePatch(oldMap, newMap)
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

// dropped returns the paths of fields that were sent and did not come back, sorted and without indices, such as
// status.inventory[].uid.
func dropped(sent, received any, path string) []string {
	found := map[string]bool{}
	collectDropped(sent, received, path, found)
	return slices.Sorted(maps.Keys(found))
}

// without returns those of the fields that are not among others.
func without(fields, others []string) []string {
	return slices.DeleteFunc(fields, func(field string) bool { return slices.Contains(others, field) })
}

func collectDropped(sent, received any, path string, found map[string]bool) {
	switch sent := sent.(type) {
	case json.RawMessage:
		back, _ := received.(json.RawMessage)
		if bytes.Equal(sent, back) {
			return
		}
		// They were encoded a moment ago.
		decoded, _ := decode(sent)
		other, _ := decode(back)
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
