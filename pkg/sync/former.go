// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// recallHooks looks for objects that must not be applied twice and are not recorded. Hooks of earlier operations are
// recreated or updated; hooks of this operation that have ended and are gone are not.
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
			// It may be gone in a moment, because no finalizer holds it any more.
			w.request.Inventory = append(w.request.Inventory, ended(live, result))
		}
	}
	return nil
}

// isLeaving reports whether an object is gone, or is being deleted.
func isLeaving(live *unstructured.Unstructured) bool {
	return live == nil || live.GetDeletionTimestamp() != nil
}

// abandon has the finalizer removed from a SyncFail hook of an earlier operation: it is no longer awaited.
func (w *work) abandon(task syncTask, live *unstructured.Unstructured) {
	if task.Phase == gitops.SyncFail {
		w.release(live)
	}
}

// release has the finalizer removed from an object, which does not exist if live is nil.
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

// former returns the item of a hook that has to be applied again.
func former(hook *unstructured.Unstructured) *inventory.Item {
	return &inventory.Item{
		TypeVersionInfo: inventory.TypeVersionInfo(hook.GroupVersionKind()), NameInfo: inventory.NameInfo{Namespace: hook.GetNamespace(), Name: hook.GetName()},
		Digest: hook.GetAnnotations()[Name+"/"+types.AnnotationKeySuffixDigest], DeletePolicy: inventory.DeletePolicyDelete,
		Phase: inventory.PhaseScheduledForApplication, UID: hook.GetUID(),
	}
}

// recalled returns the recorded item of a task as this operation needs it: a plain Job that failed in an earlier
// operation is created again if it is gone.
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
