// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"maps"

	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Handle is a component during one pass.
type Handle struct {
	client    *Client
	memory    *Memory
	options   HandleOptions
	component client.Object
	key       apitypes.NamespacedName
	uid       apitypes.UID
	// version guards writes: the resource version that the pass is based on.
	version string
	// base is the status as last written, stored the status as the server has it.
	base, stored map[string]any
}

// HandleOptions configure a Handle.
type HandleOptions struct {
	// Fence fails if this process must not write any more. Required.
	Fence func() error
	// Pruned is called with the fields of the status that the server does not keep, once for each of them. Required.
	Pruned func(fields []string)
}

// Open starts a pass with a fetched component. It restores the fields that the server drops from each written status.
func (c *Client) Open(component client.Object, memory *Memory, options HandleOptions) (*Handle, error) {
	h := &Handle{
		client: c, memory: memory, options: options, component: component,
		key: client.ObjectKeyFromObject(component), uid: component.GetUID(), version: component.GetResourceVersion(),
	}
	base, err := StatusOf(component)
	if err != nil {
		return nil, err
	}
	h.base, h.stored = base, base
	if memory.sent == nil {
		return h, nil
	}
	if !Same(base, memory.received) {
		memory.sent, memory.received = nil, nil
		return h, nil
	}
	h.base = memory.sent
	return h, c.setStatus(component, memory.sent)
}

// Status returns the status that the component has in memory; see StatusOf.
func (h *Handle) Status() (map[string]any, error) { return StatusOf(h.component) }

// Stored returns a field of the status as the server has it; nil if it has none.
func (h *Handle) Stored(field string) any { return h.stored[field] }

// WroteStatus reports whether the last written status equals this one, apart from times of observation.
func (h *Handle) WroteStatus(status map[string]any) bool { return Same(h.base, status) }

// WriteField writes one field of the status before all others.
func (h *Handle) WriteField(ctx context.Context, field string, value any) error {
	status := maps.Clone(h.base)
	if status == nil {
		status = map[string]any{}
	}
	status[field] = value
	return h.Write(ctx, status)
}

// Disown marks a field as not written.
func (h *Handle) Disown(field string) { delete(h.base, field) }

func (h *Handle) moveTo(live client.Object) {
	h.component.SetFinalizers(live.GetFinalizers())
	h.component.SetResourceVersion(live.GetResourceVersion())
	h.version = live.GetResourceVersion()
}
