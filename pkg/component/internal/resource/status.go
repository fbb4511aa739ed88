// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inventoryField is the field of the status that is by far the largest. It is decoded only when necessary.
const inventoryField = "inventory"

// StatusOf returns the status of a component in its JSON form, including the fields of the component's own type. The
// inventory is a json.RawMessage; since it is encoded from the same Go type, equal inventories have the same text.
func StatusOf(component client.Object) (map[string]any, error) {
	raw, err := json.Marshal(withStatus(component))
	if err != nil {
		return nil, fmt.Errorf("encoding the status of the component: %w", err)
	}
	var envelope struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return nil, fmt.Errorf("decoding the status of the component: %w", err)
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
		if status[field], err = Decode(content); err != nil {
			return nil, fmt.Errorf("decoding the field %s of the status of the component: %w", field, err)
		}
	}
	return status, nil
}

// withStatus returns a value whose JSON has the status of a component: only the field of that name, because the spec
// may be large, or the whole component if its type has no such field, or encodes itself.
func withStatus(component client.Object) any {
	value := reflect.Indirect(reflect.ValueOf(component))
	if _, encodesItself := component.(json.Marshaler); encodesItself || value.Kind() != reflect.Struct {
		return component
	}
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		if name != "status" || !value.Field(i).CanInterface() {
			continue
		}
		status := value.Field(i)
		if status.CanAddr() {
			// Methods with a pointer receiver may encode it.
			status = status.Addr()
		}
		return map[string]any{"status": status.Interface()}
	}
	return component
}

// setStatus replaces the status of a component by one that StatusOf has returned.
func (c *Client) setStatus(component client.Object, status map[string]any) error {
	raw, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encoding the status of the component: %w", err)
	}
	c.ClearStatus(component)
	if err := json.Unmarshal(raw, component); err != nil {
		return fmt.Errorf("restoring the status of the component: %w", err)
	}
	return nil
}

// own returns the reconciler's fields of a status.
func (c *Client) own(status map[string]any) map[string]any {
	part := map[string]any{}
	for _, name := range c.OwnFields {
		if value, exists := status[name]; exists {
			part[name] = value
		}
	}
	return part
}

// Decode decodes JSON. Numbers stay as they are written.
func Decode(content []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	// The component's own numbers may not survive as floats.
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// bookkeeping lists the fields whose change alone does not justify a request.
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

// Dropped returns the paths of fields that were sent and are not in the response, without indices, such as
// status.inventory[].uid.
func Dropped(sent, received any, path string) sets.Set[string] {
	found := sets.Set[string]{}
	collectDropped(sent, received, path, found)
	return found
}

func collectDropped(sent, received any, path string, found sets.Set[string]) {
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
			found.Insert(path + "." + key)
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
