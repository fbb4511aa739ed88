// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/internal/guarded"
	"github.com/component-operator/runtime/pkg/component/internal/statusdiff"
)

// ErrChanged ends a pass whose picture of the component is outdated.
var ErrChanged = errors.New("another client modified the component during the reconciliation")

// ErrNotOurs ends a pass for a component that is, or may be, another replica's to work on. The errors of HandleOptions.Fence wrap it.
var ErrNotOurs = errors.New("this replica may have lost the shard of the component")

// RejectedError says that the server does not accept a status.
type RejectedError struct {
	err error
}

func (e *RejectedError) Error() string {
	return "the API server rejects the status (is the CustomResourceDefinition older than this operator?): " + e.err.Error()
}

func (e *RejectedError) Unwrap() error { return e.err }

// IsRejected reports whether an error is, or wraps, a RejectedError.
func IsRejected(err error) bool {
	var rejected *RejectedError
	return errors.As(err, &rejected)
}

// maxConflicts bounds how often a write is repeated because somebody else has written at the same time.
const maxConflicts = 8

// Write replaces the status. It fails with ErrChanged if somebody else has changed the status meanwhile, and with a RejectedError if the server refuses
// this status.
func (h *Handle) Write(ctx context.Context, status map[string]any) error {
	patched, err := h.patch(ctx, "status", func() map[string]any {
		// What the server has dropped is sent again: it may keep it now, and part of a value is worse than none.
		return map[string]any{"status": statusdiff.MergePatch(h.stored, status)}
	})
	switch {
	case err == nil:
		return h.written(status, patched)
	case isFinal(err):
		return err
	case apierrors.IsNotFound(err):
		return h.whyNotFound(ctx)
	case apierrors.IsInvalid(err):
		return &RejectedError{err: err}
	default:
		return fmt.Errorf("writing the status: %w", err)
	}
}

// ChangeFinalizers writes the finalizers that change makes of the present ones; it does nothing if they are the same.
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
	case err == nil && patched == nil:
		return nil
	case err == nil:
		h.moveTo(patched)
		return nil
	case isFinal(err):
		return err
	case apierrors.IsNotFound(err):
		return ErrChanged
	case h.component.GetDeletionTimestamp() == nil && h.isBeingDeleted(ctx):
		// Then no finalizer may be added any more.
		return ErrChanged
	default:
		return fmt.Errorf("writing finalizers: %w", err)
	}
}

// Annotate sets an annotation of the component; nil removes it.
func (h *Handle) Annotate(ctx context.Context, key string, value any) error {
	patched, err := h.patch(ctx, "", func() map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}
	})
	switch {
	case apierrors.IsNotFound(err):
		return ErrChanged
	case err != nil:
		return err
	}
	h.component.SetAnnotations(patched.GetAnnotations())
	h.moveTo(patched)
	return nil
}

// rereadError is the error of reading the component again, or ErrChanged: nothing is known of the write itself.
type rereadError struct{ error }

// Unwrap returns the error.
func (e rereadError) Unwrap() error { return e.error }

func isFinal(err error) bool {
	var reread rereadError
	return errors.Is(err, ErrChanged) || errors.As(err, &reread)
}

// patch sends a merge patch that is guarded by the version of the pass, and returns the response. It is repeated with what content returns then if somebody
// else has written at the same time. It returns nothing if there is no content.
func (h *Handle) patch(ctx context.Context, subresource string, content func() map[string]any) (client.Object, error) {
	for range maxConflicts {
		wanted := content()
		if wanted == nil {
			return nil, nil
		}
		patched, err := h.send(ctx, subresource, wanted)
		if err == nil {
			h.memory.wrote(patched.GetResourceVersion())
			return patched, nil
		}
		if !conflicts.IsOutdated(err) {
			return nil, err
		}
		if err := h.Rebase(ctx); err != nil {
			return nil, rereadError{err}
		}
	}
	return nil, ErrChanged
}

// send makes one request.
func (h *Handle) send(ctx context.Context, subresource string, content map[string]any) (client.Object, error) {
	if err := h.options.Fence(); err != nil {
		return nil, err
	}
	patch, err := guarded.MergePatch(h.uid, h.version, content)
	if err != nil {
		return nil, err
	}
	// An empty object takes the response: fields that the server has dropped would survive in any other.
	patched := h.client.New()
	patched.SetNamespace(h.key.Namespace)
	patched.SetName(h.key.Name)
	owner := client.FieldOwner(h.client.FieldOwner)
	if subresource != "" {
		return patched, h.client.Client.SubResource(subresource).Patch(ctx, patched, patch, owner)
	}
	return patched, h.client.Client.Patch(ctx, patched, patch, owner)
}

// written takes the response of a status write into account.
func (h *Handle) written(status map[string]any, patched client.Object) error {
	received, err := StatusOf(patched)
	if err != nil {
		return err
	}
	// What the server has kept before was removed by somebody else.
	lost := statusdiff.Without(statusdiff.Dropped(status, received, "status"), statusdiff.Dropped(h.stored, received, "status"))
	h.version = patched.GetResourceVersion()
	h.component.SetResourceVersion(h.version)
	h.base, h.stored = status, received
	h.memory.rejections = 0
	if len(lost) == 0 {
		h.memory.sent, h.memory.received = nil, nil
		return nil
	}
	h.memory.sent, h.memory.received = status, received
	h.complain(lost)
	return nil
}

// complain reports once which fields the server does not keep.
func (h *Handle) complain(lost []string) {
	lost = slices.DeleteFunc(lost, func(field string) bool { return h.memory.complained[field] })
	if len(lost) == 0 {
		return
	}
	if h.memory.complained == nil {
		h.memory.complained = map[string]bool{}
	}
	for _, field := range lost {
		h.memory.complained[field] = true
	}
	h.options.Pruned(lost)
}

// whyNotFound tells a component that is gone from one whose status cannot be written at all.
func (h *Handle) whyNotFound(ctx context.Context) error {
	_, err := h.client.read(ctx, h.client.Live, h.key)
	switch {
	case apierrors.IsNotFound(err):
		return ErrChanged
	case err != nil:
		return fmt.Errorf("reading the component, whose status was not found: %w", err)
	default:
		return &RejectedError{err: errors.New("the component has no status subresource")}
	}
}

// LiveStatus returns the status that the server has, whatever has changed; nil if there is none.
func (h *Handle) LiveStatus(ctx context.Context) (map[string]any, error) {
	live, err := h.client.read(ctx, h.client.Live, h.key)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return StatusOf(live)
}

// Rebase moves the pass to the version that the server has. It fails with ErrChanged unless that has the status that is expected.
func (h *Handle) Rebase(ctx context.Context) error {
	live, err := h.reread(ctx)
	if err != nil {
		return err
	}
	h.moveTo(live)
	return nil
}

// Confirm fails with ErrChanged unless the component is, on the server, what this pass takes it for: neither is it being
// deleted meanwhile, nor does it declare something else, nor has anybody recorded that dependents have served their purpose.
func (h *Handle) Confirm(ctx context.Context) error {
	live, err := h.reread(ctx)
	if err == nil && Concerns(h.component, live) {
		err = ErrChanged
	}
	return err
}

// reread returns the component as the server has it. It fails with ErrChanged if that is another one, or has another status
// than is expected.
func (h *Handle) reread(ctx context.Context) (client.Object, error) {
	live, err := h.client.read(ctx, h.client.Live, h.key)
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
	live, err := h.client.read(ctx, h.client.Live, h.key)
	return err == nil && live.GetDeletionTimestamp() != nil
}
