// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/texts"
)

// ErrChanged ends a pass that has read the component before its latest change.
var ErrChanged = errors.New("another client modified the component during the reconciliation")

// ErrNotOurs ends a pass for a component that belongs to another replica, or may belong to it. The errors of
// Subject.Fence wrap it.
var ErrNotOurs = errors.New("this replica may have lost the shard of the component")

// ErrRejected means that the server rejects a status.
var ErrRejected = errors.New("the API server rejects the status, so the component shows an old one; " +
	"if the CustomResourceDefinition is older than this operator, apply the one of its version")

// maxConflicts is how often a write is tried while other clients write at the same time.
const maxConflicts = 8

// Write replaces the status. It fails with ErrChanged if another client has changed the status meanwhile, and with
// ErrRejected if the server rejects the status.
func (h *Handle) Write(ctx context.Context, status map[string]any) error {
	patched, err := h.patch(ctx, "status", func() map[string]any {
		// Dropped fields are sent again: the server may keep them now, and a part of a value is worse than none.
		return map[string]any{"status": MergePatch(h.stored, status)}
	})
	switch {
	case err == nil:
		return h.written(status, patched)
	case isFinal(err):
		return err
	case apierrors.IsNotFound(err):
		return h.whyNotFound(ctx)
	case apierrors.IsInvalid(err):
		return fmt.Errorf("%w: %w", ErrRejected, err)
	default:
		return fmt.Errorf("writing the status: %w", err)
	}
}

// ChangeFinalizers writes the finalizers that change returns for the present ones; it does nothing if they are equal.
func (h *Handle) ChangeFinalizers(ctx context.Context, change func([]string) []string) error {
	patched, err := h.patch(ctx, "", func() map[string]any {
		present := h.component.GetFinalizers()
		wanted := change(slices.Clone(present))
		if slices.Equal(present, wanted) {
			return nil
		}
		return map[string]any{"metadata": map[string]any{"finalizers": wanted}}
	})
	switch {
	case err == nil && patched != nil:
		h.moveTo(patched)
		return nil
	case err == nil || isFinal(err):
		return err
	case apierrors.IsNotFound(err):
		return ErrChanged
	case h.component.GetDeletionTimestamp() == nil && h.isBeingDeleted(ctx):
		// Finalizers cannot be added any more then.
		return ErrChanged
	default:
		return fmt.Errorf("writing finalizers: %w", err)
	}
}

// Annotate sets an annotation of the reconciler; nil removes it.
func (h *Handle) Annotate(ctx context.Context, suffix string, value any) error {
	patched, err := h.patch(ctx, "", func() map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{h.AnnotationKey(suffix): value}}}
	})
	if apierrors.IsNotFound(err) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	h.component.SetAnnotations(patched.GetAnnotations())
	h.moveTo(patched)
	return nil
}

// rereadError is an error of reading the component again, or ErrChanged. It is not an error of the write.
type rereadError struct{ error }

// Unwrap returns the error.
func (e rereadError) Unwrap() error { return e.error }

func isFinal(err error) bool {
	_, failed := errors.AsType[rereadError](err)
	return failed || errors.Is(err, ErrChanged)
}

// patch sends a merge patch that is guarded by the version of the pass, and returns the response. After a conflict with
// another client, it sends the new result of content. It returns nil if there is no content.
func (h *Handle) patch(ctx context.Context, subresource string, content func() map[string]any) (client.Object, error) {
	for range maxConflicts {
		wanted := content()
		if wanted == nil {
			return nil, nil
		}
		patched, err := h.send(ctx, subresource, wanted)
		if err == nil {
			h.memory.written = patched.GetResourceVersion()
			return patched, nil
		}
		if !apiserver.IsOutdated(err) {
			return nil, err
		}
		if err := h.Rebase(ctx); err != nil {
			return nil, rereadError{err}
		}
	}
	return nil, ErrChanged
}

// send makes one request. The response to a write of the metadata is a PartialObjectMetadata.
func (h *Handle) send(ctx context.Context, subresource string, content map[string]any) (client.Object, error) {
	if err := h.Fence(); err != nil {
		return nil, err
	}
	patch, err := apiserver.MergePatch(h.uid, h.version, content)
	if err != nil {
		return nil, err
	}
	owner := client.FieldOwner(h.client.FieldOwner)
	if subresource == "" {
		// The spec may be large, and nothing of it is needed.
		patched := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: h.Key.Namespace, Name: h.Key.Name}}
		patched.SetGroupVersionKind(h.client.Kind)
		return patched, h.client.Client.Patch(ctx, patched, patch, owner)
	}
	// The response needs an empty object: in any other one, dropped fields would survive.
	patched := h.client.New()
	patched.SetNamespace(h.Key.Namespace)
	patched.SetName(h.Key.Name)
	return patched, h.client.Client.SubResource(subresource).Patch(ctx, patched, patch, owner)
}

// written takes over the response of a status write.
func (h *Handle) written(status map[string]any, patched client.Object) error {
	received, err := StatusOf(patched)
	if err != nil {
		return err
	}
	// Another client has removed the fields that the server had kept before.
	lost := Dropped(status, received, "status").Difference(Dropped(h.stored, received, "status"))
	h.version = patched.GetResourceVersion()
	h.component.SetResourceVersion(h.version)
	h.base, h.stored = status, received
	h.memory.rejections = 0
	if len(lost) == 0 {
		h.memory.sent, h.memory.received = nil, nil
		return nil
	}
	h.memory.sent, h.memory.received = status, received
	h.reportDropped(lost)
	return nil
}

// reportDropped reports each dropped field once.
func (h *Handle) reportDropped(lost sets.Set[string]) {
	lost = lost.Difference(h.memory.reported)
	if len(lost) == 0 {
		return
	}
	h.memory.reported = lost.Union(h.memory.reported)
	fields := strings.Join(sets.List(lost), ", ")
	h.Log.Info("the CustomResourceDefinition of the component is older than this operator and drops fields of its status", "fields", fields)
	h.Warn("StatusPruned", "the CustomResourceDefinition is older than this operator, and lacks "+texts.Truncate(fields, 800)+"; update it")
}

// whyNotFound distinguishes a component that is gone from one without a status subresource.
func (h *Handle) whyNotFound(ctx context.Context) error {
	_, err := h.client.read(ctx, h.client.Live, h.Key)
	switch {
	case apierrors.IsNotFound(err):
		return ErrChanged
	case err != nil:
		return fmt.Errorf("reading the component, whose status was not found: %w", err)
	default:
		return fmt.Errorf("%w: the component has no status subresource", ErrRejected)
	}
}

// LiveStatus returns the status on the server; nil if there is none.
func (h *Handle) LiveStatus(ctx context.Context) (map[string]any, error) {
	live, err := h.client.read(ctx, h.client.Live, h.Key)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return StatusOf(live)
}

// Rebase continues the pass from the version on the server. It fails with ErrChanged if that is another component, or
// its status is not the last one known.
func (h *Handle) Rebase(ctx context.Context) error {
	live, err := h.reread(ctx)
	if err != nil {
		return err
	}
	h.moveTo(live)
	return nil
}

// Confirm fails with ErrChanged if, on the server, the component is being deleted, its declaration has changed, or
// another process has written its status.
func (h *Handle) Confirm(ctx context.Context) error {
	live, err := h.reread(ctx)
	if err == nil && Concerns(h.component, live) {
		err = ErrChanged
	}
	return err
}

// reread reads the component from the server. It fails with ErrChanged if that is another component, or its status is
// not the last one known.
func (h *Handle) reread(ctx context.Context) (client.Object, error) {
	live, err := h.client.read(ctx, h.client.Live, h.Key)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil, ErrChanged
		}
		return nil, fmt.Errorf("reading the component from the server: %w", err)
	}
	status, err := StatusOf(live)
	if err != nil {
		return nil, err
	}
	if live.GetUID() != h.uid || !reflect.DeepEqual(h.client.own(status), h.client.own(h.stored)) {
		return nil, ErrChanged
	}
	return live, nil
}

func (h *Handle) isBeingDeleted(ctx context.Context) bool {
	live, err := h.client.read(ctx, h.client.Live, h.Key)
	return err == nil && live.GetDeletionTimestamp() != nil
}

// Client reads and writes components of one kind. Its fields do not change once it is in use.
type Client struct {
	Kind schema.GroupVersionKind
	// New returns an empty component.
	New func() client.Object
	// ClearStatus empties the reconciler's fields of the status of a component.
	ClearStatus func(component client.Object)
	// Client reads from the cache and writes; Live reads from the server.
	Client client.Client
	Live   client.Reader
	// FieldOwner is the field manager of all writes.
	FieldOwner string
	// OwnFields are the reconciler's fields of the status. It leaves the others alone.
	OwnFields []string
}

// Fetch returns the component. If the cache does not show the last write of this process yet, it reads the component
// from the server. With confirm, it also does so for a component that is new to this process: another process may have
// seen, and applied, a version that the cache does not show yet. The error is NotFound if the component is gone.
func (c *Client) Fetch(ctx context.Context, key apitypes.NamespacedName, memoryOf func(uid apitypes.UID) *Memory, confirm bool) (client.Object, error) {
	component, err := c.read(ctx, c.Client, key)
	if err == nil {
		known := memoryOf(component.GetUID())
		if !known.isOutdated(component.GetResourceVersion()) && (known.confirmed || !confirm) {
			return component, nil
		}
		component, err = c.read(ctx, c.Live, key)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", c.Kind.Kind, key, err)
	}
	known := memoryOf(component.GetUID())
	// Later passes must not start from an older version.
	known.confirmed, known.written = true, component.GetResourceVersion()
	return component, nil
}

func (c *Client) read(ctx context.Context, reader client.Reader, key apitypes.NamespacedName) (client.Object, error) {
	component := c.New()
	if err := reader.Get(ctx, key, component); err != nil {
		return nil, err
	}
	return component, nil
}

// Concerns reports whether a change of a component may matter to its reconciliation: everything but changes of status
// and of metadata other than labels, annotations and finalizers.
func Concerns(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers())
}

// Subject has the facts about a component that all code of a pass shares.
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

// Type returns the type of the component.
func (h *Handle) Type() schema.GroupKind { return h.client.Kind.GroupKind() }

// AnnotationKey returns the key of an annotation of the reconciler.
func (h *Handle) AnnotationKey(suffix string) string { return h.Reconciler + "/" + suffix }

// Annotation returns the value of an annotation of the reconciler.
func (h *Handle) Annotation(suffix string) string {
	return h.component.GetAnnotations()[h.AnnotationKey(suffix)]
}

// IsAnnotated reports whether an annotation of the reconciler is "true".
func (h *Handle) IsAnnotated(suffix string) bool { return h.Annotation(suffix) == "true" }

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
	status := map[string]any{}
	maps.Copy(status, h.base)
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

// Memory is what a process remembers about its writes of one component. Losing it only costs requests. Only one pass
// uses it at a time. The zero value is ready for use.
type Memory struct {
	// written is the resource version of our last write.
	written string
	// confirmed is set when the component was read from the server.
	confirmed bool
	// sent is the last written status, received the server's version of it; set only if they differ.
	sent, received map[string]any
	// reported has the dropped fields that were reported before.
	reported sets.Set[string]
	// rejections is the number of consecutive rejected status writes.
	rejections int
}

// Rejected counts a rejected status, and returns the number of consecutive ones.
func (m *Memory) Rejected() int {
	m.rejections++
	return m.rejections
}

// isOutdated reports whether the version is older than our last write.
func (m *Memory) isOutdated(version string) bool {
	return m.written != "" && apiserver.Older(version, m.written)
}

// Writer returns a client for objects beside the component. Its writes fail if this process must not write any more.
func (h *Handle) Writer() client.Client {
	return fencedClient{Client: h.client.Client, fence: h.Fence}
}

type fencedClient struct {
	client.Client
	fence func() error
}

// Create creates an object.
func (c fencedClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if err := c.fence(); err != nil {
		return err
	}
	return c.Client.Create(ctx, object, options...)
}

// Patch patches an object.
func (c fencedClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := c.fence(); err != nil {
		return err
	}
	return c.Client.Patch(ctx, object, patch, options...)
}

// Delete deletes an object.
func (c fencedClient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if err := c.fence(); err != nil {
		return err
	}
	return c.Client.Delete(ctx, object, options...)
}
