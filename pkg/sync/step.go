// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// call calls the engine, and repeats that to pass on an approval, and to run SyncFail hooks after a failure that the
// engine does not count as one.
func (c *syncContext) call(ctx context.Context) (reconciler.Result, error) {
	if c.work.saveFirst && c.store != nil {
		if err := c.Save(ctx, c.work.request.Inventory); err != nil {
			return reconciler.Result{Inventory: c.work.request.Inventory}, err
		}
	}
	c.work.saveFirst = false
	result, err := c.applyOrFail(ctx)
	if c.store == nil {
		return result, err
	}
	// Results must not be lost by a failure, or by the end of the step.
	ctx, done := concurrent.ContextWithGrace(ctx, requestGrace)
	defer done()
	unsaved := c.Save(ctx, result.Inventory)
	_, isFenced := errors.AsType[*reconciler.FencedError](err)
	switch {
	case unsaved == nil || isFenced:
		return result, err
	case err == nil:
		return result, unsaved
	default:
		return result, fmt.Errorf("%w; before that: %s", unsaved, err.Error())
	}
}

// applyOrFail is call without the last save.
func (c *syncContext) applyOrFail(ctx context.Context) (reconciler.Result, error) {
	w := c.work
	result, err := w.apply(ctx, c.engine)
	if held := result.Held; err == nil && held != nil && held.Confirm && c.pruneConfirmed {
		w.request.Deletions.Approved = held.Digest
		result, err = w.again(ctx, c.engine, result)
	}
	isTold := result.Aftermath.Problem != "" || len(result.Aftermath.Waits) > 0 || w.request.Failed
	if fails(result, err) && !isTold && w.hasFailureHooks() {
		w.request.Failed = true
		result, err = w.again(ctx, c.engine, result)
	}
	return result, err
}

// fails reports whether an operation fails after a call.
func fails(result reconciler.Result, err error) bool {
	if _, isFenced := errors.AsType[*reconciler.FencedError](err); isFenced {
		return false
	}
	return err != nil && IsFinal(err) || err == nil && !result.Done && HasFailed(result)
}

func (w *work) apply(ctx context.Context, engine *reconciler.Reconciler) (reconciler.Result, error) {
	result, err := engine.Apply(ctx, w.request)
	w.request.Inventory = result.Inventory
	return result, err
}

// again calls the engine once more in the same step.
func (w *work) again(ctx context.Context, engine *reconciler.Reconciler, first reconciler.Result) (reconciler.Result, error) {
	result, err := w.apply(ctx, engine)
	result.Actions, result.Notes = slices.Concat(first.Actions, result.Actions), slices.Concat(first.Notes, result.Notes)
	return result, err
}

// hasFailureHooks reports whether there are SyncFail hooks.
func (w *work) hasFailureHooks() bool {
	for _, task := range w.tasks {
		if task.Phase == gitops.SyncFail {
			return true
		}
	}
	return false
}

// Save saves the inventory of the engine with the dependents that the operation leaves alone; it is the store of the
// engine.
func (c *syncContext) Save(ctx context.Context, inventory []*inventory.Item) error {
	if c.store == nil {
		return c.reported(inventory)
	}
	all := slices.Concat(c.work.spared, inventory)
	if reflect.DeepEqual(all, c.inventory) {
		return nil
	}
	if err := c.store.Save(ctx, all); err != nil {
		return fmt.Errorf("saving the inventory: %w", err)
	}
	c.inventory = all
	return nil
}

// errUnreported ends a step so that the caller can learn that objects have completed, before they are deleted: without
// a store, only the results say so.
var errUnreported = errors.New("the results have changed")

// reported returns errUnreported if an object has ended that another process would have run again because it is gone,
// and the results do not say so yet.
func (c *syncContext) reported(items []*inventory.Item) error {
	for _, item := range items {
		id := c.work.id(item)
		task, wanted := c.work.tasks[id]
		if !wanted || !runsOnce(task) || !c.work.begun(item, task) || outcome(item) == "" {
			continue
		}
		if result, _ := c.results.find(keyOf(id), SyncPhase(task.Phase)); !result.hasEnded() {
			return errUnreported
		}
	}
	return nil
}

// took updates the state after a step.
func (c *syncContext) took(ctx context.Context, state State) {
	if errors.Is(state.Err, errUnreported) {
		state.Phase, state.Err, state.RetryAfter = OperationRunning, nil, 1
	}
	postponed := c.learn(state)
	for _, action := range state.Result.Actions {
		for _, object := range action.Objects {
			c.log.Info("changed an object", "object", types.IDOf(object).String(), "verb", string(action.Verb), "wave", types.WaveText(action.Wave))
		}
	}
	fenced, _ := errors.AsType[*reconciler.FencedError](state.Err)
	switch {
	case fenced != nil && errors.Is(fenced.Reason, errTerminated):
		// Terminate goes on.
	case fenced != nil:
		c.endWith(ctx, OperationError, fenced.Reason.Error())
	case state.Phase.Successful() && c.results.hasFailed():
		c.fail(ctx, "SyncFail hooks have run because of an earlier failure")
	case state.Phase.Successful():
		c.set(OperationSucceeded, "everything is applied and healthy")
	case postponed:
		c.set(OperationRunning, c.results.failure(state)+"; waiting for hooks that are running")
	case state.Phase.Failed():
		c.fail(ctx, c.results.failure(state))
	default:
		c.set(OperationRunning, c.work.progress(state))
	}
}

// learn updates the results after a step. It reports whether an operation that has failed must wait for running hooks,
// whose outcomes would stay unknown otherwise.
func (c *syncContext) learn(state State) (postponed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.work.findings(state.Result)
	// If the call has ended before it has looked at any object, the next one will, too.
	hasLooked := state.Err == nil || len(state.Result.Errors) > 0
	postponed = state.Phase.Failed() && hasLooked && c.work.hookRuns(f, state.Result)
	if postponed {
		state.Phase = OperationRunning
	}
	c.results.collect(c.work, f, state)
	if state.Phase.Successful() {
		c.results.settle()
	}
	c.last = state
	return postponed
}

// fail ends an operation that has failed. If it cannot be tidied up, another step has to try.
func (c *syncContext) fail(ctx context.Context, message string) {
	switch err := c.tidy(ctx); {
	case err != nil && IsFinal(err):
		message += "; " + err.Error()
	case err != nil:
		c.retry(err)
		c.set(OperationRunning, message+"; trying again after: "+err.Error())
		return
	}
	c.set(OperationFailed, message)
}
