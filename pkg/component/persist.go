// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/conflicts"
	"github.com/component-operator/runtime/pkg/component/internal/statusdiff"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// maxConflicts bounds how often a write is repeated because somebody else has written at the same time.
const maxConflicts = 8

// rejectedError says that the server does not accept a status.
type rejectedError struct {
	err error
}

func (e *rejectedError) Error() string {
	return "the status is not accepted (is the CustomResourceDefinition older than this operator?): " + e.err.Error()
}

func (e *rejectedError) Unwrap() error { return e.err }

// statusStore persists the inventory in the status of the component.
type statusStore struct {
	worker *worker
	scope  *scope
}

var _ reconciler.Store = &statusStore{}

// Save persists the inventory, along with what else has changed in the status.
func (s *statusStore) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	s.scope.status.Inventory = inventory
	err := s.worker.recordInventory(ctx, s.scope)
	if err == nil {
		err = s.worker.save(ctx, s.scope)
	}
	s.scope.unsaved = err != nil
	return err
}

// save writes the status if it says something new, and ends what recordInventory has begun.
func (w *worker) save(ctx context.Context, s *scope) error {
	current, err := s.persistent()
	changed := err == nil && !statusdiff.Same(s.base, current)
	if changed {
		err = w.write(ctx, s, current)
	}
	if isRejected(err) && s.mayDisguise() {
		s.memory.disguises = true
		if current, err = s.persistent(); err == nil {
			err = w.write(ctx, s, current)
		}
	}
	if err == nil && changed {
		err = w.checkKept(ctx, s, current)
	}
	w.recorded(ctx, s, changed, err)
	return err
}

// checkKept looks whether the server has kept the record of the inventory. If not, the definition is an older one. What was packed
// is written as a list then; what is in chunks has to be rebuilt by the next process as long as that definition stays.
func (w *worker) checkKept(ctx context.Context, s *scope, current map[string]any) error {
	before := s.memory.unkept
	s.memory.unkept = s.status.hasRecord() && !sameRecord(s.server[recordField], current[recordField])
	switch {
	case s.memory.unkept && s.status.recordForm() == formPacked:
		s.memory.unkept, s.memory.unpacked, s.memory.swept = false, true, false
		w.unpack(s)
	case before || !s.memory.unkept:
		return nil
	default:
		s.status.ObservedGeneration = -1
	}
	current, err := s.persistent()
	if err != nil {
		return err
	}
	return w.write(ctx, s, current)
}

// unpack has the inventory be a list, of which the server has dropped the packed form. Chunks that were there before go when the
// list is written.
func (w *worker) unpack(s *scope) {
	reference := s.status.InventoryRecord
	record := InventoryRecord{Inline: true, Namespace: reference.Namespace, PreviousNamespace: reference.PreviousNamespace, Unlisted: reference.Unlisted}
	s.status.InventoryRecord = nil
	if record.Namespace != "" || len(record.Unlisted) > 0 {
		s.status.InventoryRecord = &record
	}
	if s.record.next != nil && s.record.next.stale == nil {
		s.record.next = nil
	}
}

// persistent returns the status as it is to be written: without an inventory that is kept elsewhere, or that must not be
// taken for a complete one.
func (s *scope) persistent() (map[string]any, error) {
	defer s.status.putMark(s.nextMark())()
	if s.status.hasRecord() || s.record.lost {
		inventory := s.status.Inventory
		s.status.Inventory = nil
		defer func() { s.status.Inventory = inventory }()
	}
	if s.memory.disguises {
		defer s.status.disguiseFailures()()
	}
	return statusOf(s.component)
}

// write replaces the status. The write is refused by the server if anybody has written meanwhile; it is repeated if that has
// left the status alone, and ends with errAbandoned otherwise.
func (w *worker) write(ctx context.Context, s *scope, current map[string]any) error {
	for range maxConflicts {
		patched := w.newComponent()
		// What the server has dropped is sent again: it may keep it now, and part of a value is worse than none.
		err := w.patch(ctx, s, patched, map[string]any{"status": statusdiff.MergePatch(s.server, current)}, "status")
		switch {
		case err == nil:
			return w.saved(s, current, patched)
		case conflicts.IsOutdated(err):
			if err := w.rebase(ctx, s); err != nil {
				return err
			}
		case apierrors.IsNotFound(err):
			return w.whyNotFound(ctx, s)
		case apierrors.IsInvalid(err):
			return &rejectedError{err: err}
		default:
			return fmt.Errorf("writing the status: %w", err)
		}
	}
	return errAbandoned
}

// whyNotFound tells a component that is gone from one whose status cannot be written at all.
func (w *worker) whyNotFound(ctx context.Context, s *scope) error {
	err := w.live.Get(ctx, s.key, w.newComponent())
	switch {
	case apierrors.IsNotFound(err):
		return errAbandoned
	case err != nil:
		return fmt.Errorf("reading the component, whose status was not found: %w", err)
	default:
		return &rejectedError{err: errors.New("there is no subresource named status")}
	}
}

// patch sends a merge patch that is guarded by the version of the pass, and returns the response in patched.
func (w *worker) patch(ctx context.Context, s *scope, patched Component, content map[string]any, subresource string) error {
	if err := s.mayWrite(); err != nil {
		return err
	}
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		content["metadata"] = metadata
	}
	metadata["resourceVersion"] = s.version
	metadata["uid"] = string(s.memory.uid)
	raw, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	// An empty object takes the response: fields that the server has dropped would survive in any other.
	patched.SetNamespace(s.key.Namespace)
	patched.SetName(s.key.Name)
	patch := client.RawPatch(apitypes.MergePatchType, raw)
	owner := client.FieldOwner(*w.options.FieldOwner)
	if subresource != "" {
		return w.client.SubResource(subresource).Patch(ctx, patched, patch, owner)
	}
	return w.client.Patch(ctx, patched, patch, owner)
}

// saved takes the response of a status write into account.
func (w *worker) saved(s *scope, current map[string]any, patched Component) error {
	received, err := statusOf(patched)
	if err != nil {
		return err
	}
	// What the server has kept before was removed by somebody else.
	lost := statusdiff.Without(statusdiff.Dropped(current, received, "status"), statusdiff.Dropped(s.server, received, "status"))
	s.version = patched.GetResourceVersion()
	s.component.SetResourceVersion(s.version)
	s.base, s.server = current, received
	s.memory.rejections = 0
	w.memories.wrote(s.memory, s.version)
	if len(lost) == 0 {
		s.memory.sent, s.memory.received = nil, nil
		return nil
	}
	s.memory.sent, s.memory.received = current, received
	w.complain(s, lost)
	return nil
}

// complain reports once which fields the server does not keep.
func (w *worker) complain(s *scope, lost []string) {
	lost = slices.DeleteFunc(lost, func(field string) bool { return s.memory.complained[field] })
	if len(lost) == 0 {
		return
	}
	for _, field := range lost {
		s.memory.complained[field] = true
	}
	fields := texts.Join(lost, ", ")
	s.log.Info("the CustomResourceDefinition of the component is older than this operator and drops fields of its status", "fields", fields)
	w.warn(s, "StatusPruned", "The CustomResourceDefinition is older than this operator; it does not keep "+fields+". Please update it.")
}

// rebase moves the pass to the version that the server has, provided that it has the status that is expected.
func (w *worker) rebase(ctx context.Context, s *scope) error {
	live, err := w.reread(ctx, s)
	if err != nil {
		return err
	}
	s.setFinalizers(live.GetFinalizers(), live.GetResourceVersion())
	return nil
}

// stillWants fails with errAbandoned unless the component is, on the server, what this pass takes it for: neither is it being
// deleted meanwhile, nor does it declare something else, nor has anybody recorded that dependents have served their purpose.
func (w *worker) stillWants(ctx context.Context, s *scope) error {
	live, err := w.reread(ctx, s)
	if err == nil && concerns(s.component, live) {
		err = errAbandoned
	}
	return err
}

// reread returns the component as the server has it. It fails with errAbandoned if that is another one, or has another status
// than is expected. Fields that the component's own type adds to the status may be somebody else's business.
func (w *worker) reread(ctx context.Context, s *scope) (Component, error) {
	live := w.newComponent()
	if err := w.live.Get(ctx, s.key, live); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, errAbandoned
		}
		return nil, fmt.Errorf("reading the component from the server: %w", err)
	}
	status, err := statusOf(live)
	if err != nil {
		return nil, err
	}
	if live.GetUID() != s.memory.uid || !reflect.DeepEqual(ours(status), ours(s.server)) {
		return nil, errAbandoned
	}
	return live, nil
}

// changeFinalizers writes the finalizers that change makes of the present ones; it does nothing if they are the same.
func (w *worker) changeFinalizers(ctx context.Context, s *scope, change func([]string) []string) error {
	for range maxConflicts {
		present := s.component.GetFinalizers()
		wanted := change(slices.Clone(present))
		if slices.Equal(present, wanted) {
			return nil
		}
		patched := w.newComponent()
		err := w.patch(ctx, s, patched, map[string]any{"metadata": map[string]any{"finalizers": wanted}}, "")
		switch {
		case err == nil:
			s.setFinalizers(patched.GetFinalizers(), patched.GetResourceVersion())
			w.memories.wrote(s.memory, s.version)
			return nil
		case conflicts.IsOutdated(err):
			if err := w.rebase(ctx, s); err != nil {
				return err
			}
		case apierrors.IsNotFound(err):
			return errAbandoned
		case !s.deleting && w.isBeingDeleted(ctx, s):
			// Then no finalizer may be added any more.
			return errAbandoned
		default:
			return fmt.Errorf("writing finalizers: %w", err)
		}
	}
	return errAbandoned
}

func (w *worker) isBeingDeleted(ctx context.Context, s *scope) bool {
	live := w.newComponent()
	err := w.live.Get(ctx, s.key, live)
	return err == nil && live.GetDeletionTimestamp() != nil
}

func isRejected(err error) bool {
	var rejected *rejectedError
	return errors.As(err, &rejected)
}
