// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component/internal/statusdiff"
)

// inventoryField is the field of the status that is by far the largest. It is decoded only when necessary.
const inventoryField = "inventory"

// StatusOf returns the status of a component in its JSON form, including the fields of the component's own type. The inventory is a json.RawMessage;
// since it is encoded from the same Go type, equal inventories have the same text.
func StatusOf(component client.Object) (map[string]any, error) {
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

// setStatus replaces the status of a component by one that StatusOf has returned.
func (c *Client) setStatus(component client.Object, status map[string]any) error {
	raw, err := json.Marshal(statusEnvelope{Status: status})
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
