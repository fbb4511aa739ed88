// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/component-operator/runtime/pkg/component/internal/specs"
	"github.com/component-operator/runtime/pkg/component/internal/statusdiff"
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
		if status[field], err = statusdiff.Decode(content); err != nil {
			return nil, fmt.Errorf("decoding the field %s of the status of the component: %w", field, err)
		}
	}
	return status, nil
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
		names = append(names, specs.JSONName(t.Field(i)))
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
