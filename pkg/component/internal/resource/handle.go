// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"maps"

	"github.com/go-logr/logr"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Subject is what all that work on a component know of it.
type Subject struct {
	// OwnerID is the ID of the component as owner of its dependents.
	OwnerID string
	// Reconciler is the name of the reconciler, the prefix of its annotations.
	Reconciler string
	// Deleting is set if the component is being deleted.
	Deleting bool
	Log      logr.Logger
	// Warn and Inform write Warning and Normal events about the component.
	Warn, Inform func(reason, message string)
	// Fence fails if this process must not write any more.
	Fence func() error
}

// Handle is a component during one pass.
type Handle struct {
	Subject
	Key apitypes.NamespacedName

	client    *Client
	memory    *Memory
	component client.Object
	uid       apitypes.UID
	// version guards writes: the resource version that the pass is based on.
	version string
	// base is the status as last written, stored the status as the server has it.
	base, stored map[string]any
}

// Open starts a pass with a fetched component. It restores the fields that the server drops from each written status.
func (c *Client) Open(component client.Object, memory *Memory, subject Subject) (*Handle, error) {
	h := &Handle{
		Subject: subject, Key: client.ObjectKeyFromObject(component),
		client: c, memory: memory, component: component, uid: component.GetUID(), version: component.GetResourceVersion(),
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

// Name names the component in messages.
func (h *Handle) Name() string { return h.client.Kind.Kind + " " + h.Key.String() }

// Annotation returns the value of an annotation of the reconciler.
func (h *Handle) Annotation(suffix string) string {
	return h.component.GetAnnotations()[h.Reconciler+"/"+suffix]
}

// Live returns a reader that asks the server.
func (h *Handle) Live() client.Reader { return h.client.Live }

// FieldOwner returns the field manager of all writes.
func (h *Handle) FieldOwner() string { return h.client.FieldOwner }

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
