// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Terminate ends the operation.
func (c *syncContext) Terminate(ctx context.Context) {
	c.mu.Lock()
	c.terminated = true
	if c.interrupt != nil {
		c.interrupt(errTerminated)
	}
	c.mu.Unlock()
	c.step.Lock()
	defer c.step.Unlock()
	if phase, _, _ := c.GetState(); !phase.Completed() || c.unended {
		c.end(ctx)
	}
}

// end ends a terminated operation.
func (c *syncContext) end(ctx context.Context) {
	c.endWith(ctx, OperationFailed, "the operation was terminated")
}

// endWith ends hooks that are running, even if the context has ended, and the operation. If that fails, Terminate can
// try again.
func (c *syncContext) endWith(ctx context.Context, phase OperationPhase, message string) {
	ctx, done := concurrent.ContextWithGrace(ctx, requestGrace)
	defer done()
	err := c.endHooks(ctx)
	if c.unended = err != nil; err != nil {
		c.set(OperationError, message+"; "+err.Error())
		return
	}
	c.set(phase, message)
}

// endHooks requests the deletion of running hooks, and records the outcome of others. It does not wait.
func (c *syncContext) endHooks(ctx context.Context) error {
	if c.work == nil {
		if c.initial == nil {
			return nil
		}
		w, err := c.assemble(ctx)
		if err == nil {
			err = c.recallHooks(ctx, w)
		}
		if _, isInvalid := errors.AsType[*invalidError](err); isInvalid && !c.isContinued() {
			// It has never begun.
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot find its hooks: %w", err)
		}
		c.work = w
	}
	var running []*inventory.Item
	var problems []error
	for _, id := range sortedIDs(c.work.tasks) {
		if task := c.work.tasks[id]; task.Hook {
			item, err := c.endHook(ctx, id, task)
			if err != nil {
				problems = append(problems, err)
			} else if item != nil {
				running = append(running, item)
			}
		}
	}
	if err := c.deleteHooks(ctx, running); err != nil {
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		// Finalizers must stay as long as hooks may run.
		return err
	}
	return c.tidy(ctx)
}

// deleteHooks requests the deletion of hooks that are running.
func (c *syncContext) deleteHooks(ctx context.Context, running []*inventory.Item) error {
	if len(running) == 0 {
		return nil
	}
	request := reconciler.DeleteRequest{Owner: reconciler.Owner{ID: c.owner, Namespace: c.namespace, Inventory: running, Store: unsaved{}}, Unasked: true}
	result, err := c.engine.Delete(ctx, request)
	left := map[types.ObjectID]bool{}
	var problems []error
	for _, item := range result.Inventory {
		if item.Phase == inventory.PhaseDeleting {
			continue
		}
		left[types.IDOf(item)] = true
		if err == nil {
			problems = append(problems, fmt.Errorf("the deletion of hook %s could not be requested yet", types.IDOf(item)))
		}
	}
	if err != nil {
		problems = append(problems, fmt.Errorf("deleting hooks that are running: %w", err))
	}
	for _, item := range running {
		if id := types.IDOf(item); !left[id] {
			c.result(withTask(ResourceSyncResult{Status: ResultCodeSynced, HookPhase: OperationFailed, Message: "terminated"}, id, c.work.tasks[id]))
		}
	}
	return errors.Join(problems...)
}

// tidy removes the finalizers of Jobs and Pods, and barriers, which the engine needs only while an operation is under
// way.
func (c *syncContext) tidy(ctx context.Context) error {
	problems := []error{}
	for _, id := range sortedIDs(c.work.tasks) {
		task := c.work.tasks[id]
		if !runsOnce(task) || !observe.RunsToCompletion(id.GroupKind) {
			continue
		}
		live, err := c.liveHook(ctx, id, task)
		if err == nil && live != nil {
			err = c.letGo(ctx, live)
		}
		problems = append(problems, err)
	}
	request := reconciler.DeleteRequest{Owner: c.work.request.Owner}
	request.Fence = nil
	inventory, err := c.engine.LiftBarriers(ctx, request)
	if err == nil {
		c.work.request.Inventory = inventory
		if c.store != nil {
			err = c.Save(ctx, inventory)
		}
	}
	return errors.Join(append(problems, err)...)
}

// endHook returns the item of a running hook, so that it can be deleted. For other hooks, it records the outcome, if
// any.
func (c *syncContext) endHook(ctx context.Context, id types.ObjectID, task syncTask) (*inventory.Item, error) {
	result, _ := c.results.find(keyOf(id), SyncPhase(task.Phase))
	if result.hasEnded() {
		return nil, nil
	}
	live, err := c.liveHook(ctx, id, task)
	if err != nil || live == nil || !c.isOfOperation(live) {
		return nil, err
	}
	judged := c.judge.Judge(live)
	// This judge can tell for sure only for Jobs and Pods that they have completed.
	isSure := observe.RunsToCompletion(id.GroupKind) || !result.HookPhase.Running()
	if live.GetDeletionTimestamp() == nil && (judged.Status == status.CurrentStatus && isSure || judged.Status == status.FailedStatus) {
		result = withTask(ResourceSyncResult{Status: ResultCodeSynced, HookPhase: OperationSucceeded, Message: judged.Message}, id, task)
		if judged.Status == status.FailedStatus {
			result.HookPhase = OperationFailed
		}
		c.result(result)
		return nil, nil
	}
	return &inventory.Item{
		TypeVersionInfo: inventory.TypeVersionInfo(live.GroupVersionKind()), NameInfo: inventory.NameInfo{Namespace: id.Namespace, Name: id.Name},
		DeletePolicy: inventory.DeletePolicyDelete, Phase: inventory.PhaseUpdating, UID: live.GetUID(),
	}, nil
}

func sortedIDs[T any](all map[types.ObjectID]T) []types.ObjectID {
	return slices.SortedFunc(maps.Keys(all), types.ObjectID.Compare)
}

// unsaved is a store that drops everything: hooks that are being deleted need no record.
type unsaved struct{}

// Save does nothing.
func (unsaved) Save(context.Context, []*inventory.Item) error { return nil }

// recallHooks looks up unrecorded objects that must not be applied twice. Hooks of earlier operations are recreated or
// updated; hooks of this operation that have ended and are gone are not.
func (c *syncContext) recallHooks(ctx context.Context, w *work) error {
	recorded := map[types.ObjectID]int{}
	for i, item := range w.request.Inventory {
		recorded[w.id(item)] = i
	}
	for _, id := range sortedIDs(w.tasks) {
		task := w.tasks[id]
		at, isRecorded := recorded[id]
		if !runsOnce(task) || isRecorded && (task.Phase != gitops.SyncFail || w.begun(w.request.Inventory[at], task)) {
			continue
		}
		live, err := c.liveHook(ctx, id, task)
		if err != nil {
			return err
		}
		result, _ := c.results.find(keyOf(id), SyncPhase(task.Phase))
		switch {
		case isRecorded:
			item := w.request.Inventory[at].DeepCopy()
			item.Phase, w.request.Inventory[at], w.saveFirst = inventory.PhaseScheduledForApplication, item, true
			w.abandon(task, live)
		case live != nil && task.Hook && !c.isOfOperation(live):
			w.request.Inventory = append(w.request.Inventory, former(live))
			w.existed[id] = true
			w.abandon(task, live)
		case result.hasEnded() && isLeaving(live):
			w.request.Inventory = append(w.request.Inventory, completed(id, task, result))
			w.release(live)
		case result.hasEnded():
			// It may be gone soon, because no finalizer holds it any longer.
			w.request.Inventory = append(w.request.Inventory, ended(live, result))
		}
	}
	return nil
}

// isLeaving reports whether an object is gone, or is being deleted.
func isLeaving(live *unstructured.Unstructured) bool {
	return live == nil || live.GetDeletionTimestamp() != nil
}

// abandon requests the removal of the finalizer from a SyncFail hook of an earlier operation, which is no longer
// awaited.
func (w *work) abandon(task syncTask, live *unstructured.Unstructured) {
	if task.Phase == gitops.SyncFail {
		w.release(live)
	}
}

// release requests the removal of the finalizer from an object; live may be nil.
func (w *work) release(live *unstructured.Unstructured) {
	if live != nil {
		w.strays = append(w.strays, live)
	}
}

// liveHook returns the object of a task; nil if there is none of this owner.
func (c *syncContext) liveHook(ctx context.Context, id types.ObjectID, task syncTask) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(task.Object.GroupVersionKind())
	err := c.client.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, live)
	switch {
	case apierrors.IsNotFound(err) || cluster.IsTypeless(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", id, err)
	case live.GetLabels()[ownerLabel] != manifest.OwnerLabel(c.owner):
		return nil, nil
	}
	return live, nil
}

// isOfOperation reports whether a hook was applied by this operation, and not by an earlier one: the digests of hooks
// end with that of the operation.
func (c *syncContext) isOfOperation(hook *unstructured.Unstructured) bool {
	return strings.HasSuffix(hook.GetAnnotations()[Name+"/"+types.AnnotationKeySuffixDigest], "@"+c.digest())
}

// runsOnce reports whether a task must not be applied again in the same operation when its object has completed and is
// gone.
func runsOnce(task syncTask) bool {
	_, removesItself, _ := unstructured.NestedFieldNoCopy(task.Object.Object, "spec", "ttlSecondsAfterFinished")
	return task.Hook || removesItself
}

// former returns the item of a hook that must be applied again.
func former(hook *unstructured.Unstructured) *inventory.Item {
	return &inventory.Item{
		TypeVersionInfo: inventory.TypeVersionInfo(hook.GroupVersionKind()), NameInfo: inventory.NameInfo{Namespace: hook.GetNamespace(), Name: hook.GetName()},
		Digest: hook.GetAnnotations()[Name+"/"+types.AnnotationKeySuffixDigest], DeletePolicy: inventory.DeletePolicyDelete,
		Phase: inventory.PhaseScheduledForApplication, UID: hook.GetUID(),
	}
}

// recalled returns the item of a task for this operation. A Job that failed in an earlier operation is created again if
// it no longer exists, unless it is a hook.
func (c *syncContext) recalled(item *inventory.Item, task syncTask) *inventory.Item {
	if task.Hook || !runsOnce(task) || !outcome(item).Failed() || c.isContinued() {
		return item
	}
	item = item.DeepCopy()
	item.Phase, item.Status = inventory.PhaseScheduledForApplication, status.InProgressStatus
	return item
}

// ended returns the item of an object that has ended in this operation, and still exists.
func ended(live *unstructured.Unstructured, result ResourceSyncResult) *inventory.Item {
	item := former(live)
	item.Phase, item.Status = inventory.PhaseReady, status.CurrentStatus
	if result.HookPhase.Failed() {
		item.Phase, item.Status = inventory.PhaseUpdating, status.FailedStatus
	}
	return item
}

// completed returns the item of a task that has completed, and whose object is gone.
func completed(id types.ObjectID, task syncTask, result ResourceSyncResult) *inventory.Item {
	item := &inventory.Item{
		TypeVersionInfo: inventory.TypeVersionInfo(task.Object.GroupVersionKind()), NameInfo: inventory.NameInfo{Namespace: id.Namespace, Name: id.Name},
		Digest: digestCompleted, Phase: inventory.PhaseCompleted,
	}
	if result.HookPhase.Failed() {
		item.Phase, item.Status = inventory.PhaseFailed, status.FailedStatus
	}
	return item
}
