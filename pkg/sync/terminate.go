// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/observe"
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

// end ends an operation that is terminated.
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

// endHooks requests the deletion of hooks that are running, and notes the outcome of those that are not. It does not
// wait.
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

// tidy removes what the engine needs only while an operation is under way: finalizers of Jobs and Pods, and what keeps
// others from creating objects of a type.
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

// endHook returns the item of a hook if it is running, so that it can be deleted. Otherwise, it notes the outcome, if
// there is one.
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
	// Only of Jobs and Pods, this judge knows for sure that they have completed.
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

// unsaved is a store that drops everything: hooks need no record that are being deleted.
type unsaved struct{}

// Save does nothing.
func (unsaved) Save(context.Context, []*inventory.Item) error { return nil }
