// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/grace"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// call calls the engine, again if it asks for an approval that is given, and again if the operation has failed for a reason that the engine does not consider a failure, so that
// SyncFail hooks run.
func (c *syncContext) call(ctx context.Context) (reconciler.Result, error) {
	w := c.work
	result, err := w.apply(ctx, c.engine)
	if held := result.Held; err == nil && held != nil && held.Confirm && c.pruneConfirmed {
		w.request.Deletions.Approved = held.Digest
		result, err = w.again(ctx, c.engine, result)
	}
	_, isFenced := errors.AsType[*reconciler.FencedError](err)
	fails := err != nil && IsFinal(err) && !isFenced || err == nil && !result.Done && HasFailed(result)
	if untold := result.Aftermath.Problem == "" && len(result.Aftermath.Waits) == 0; fails && untold && !w.request.Failed && w.hasFailureHooks() {
		w.request.Failed = true
		result, err = w.again(ctx, c.engine, result)
	}
	if c.store == nil {
		return result, err
	}
	// What was done must not be lost because something has failed, or because the step is being ended.
	ctx, done := grace.Period(ctx, requestGrace)
	defer done()
	if unsaved := c.Save(ctx, result.Inventory); unsaved != nil {
		if err != nil {
			unsaved = fmt.Errorf("%w; before that: %s", unsaved, err.Error())
		}
		return result, unsaved
	}
	return result, err
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

// Save saves the inventory of the engine with the dependents that the operation leaves alone; it is the store of the engine.
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

// errUnreported ends a step so that the caller can learn that objects have completed, before they are deleted: without a store, only the results say so.
var errUnreported = errors.New("the results have changed")

// reported returns errUnreported if an object has completed that another process would have run again because it is gone, and the results do not say so yet.
func (c *syncContext) reported(items []*inventory.Item) error {
	for _, item := range items {
		id := types.IDOf(item)
		task, wanted := c.work.tasks[id]
		if !wanted || !runsOnce(task) || !hasEnded(item) {
			continue
		}
		if result, _ := c.results.find(keyOf(id), SyncPhase(task.Phase)); !result.HookPhase.Completed() {
			return errUnreported
		}
	}
	return nil
}

// hasEnded reports whether an object has completed or failed, and needs not stay.
func hasEnded(item *inventory.Item) bool {
	switch item.Phase {
	case inventory.PhaseReady, inventory.PhaseScheduledForCompletion, inventory.PhaseCompleting, inventory.PhaseCompleted, inventory.PhaseFailed:
		return true
	default:
		return false
	}
}

// took updates the state after a step.
func (c *syncContext) took(ctx context.Context, state State) {
	if errors.Is(state.Err, errUnreported) {
		state.Err, state.RetryAfter = nil, 1
	}
	c.mu.Lock()
	c.results.collect(c.work, state)
	// The outcomes of hooks that are running would not become known otherwise.
	postponed := state.Phase.Failed() && c.work.hookRuns(state.Result)
	if postponed {
		state.Phase = OperationRunning
	}
	c.last = state
	c.mu.Unlock()
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
		message := fenced.Reason.Error()
		if err := c.endHooks(ctx); err != nil {
			message += "; " + err.Error()
		}
		c.set(OperationError, message)
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

// fail ends an operation that has failed. If it cannot be tidied up, another step has to try.
func (c *syncContext) fail(ctx context.Context, message string) {
	if err := c.tidy(ctx); err != nil {
		c.set(OperationRunning, message+"; trying again after: "+err.Error())
		return
	}
	c.set(OperationFailed, message)
}

// findings is what a step says about single objects.
type findings struct {
	waits, failures, errors, notes map[types.ObjectID]string
	// verbs say what was done in this step or an earlier one.
	verbs map[types.ObjectID]string
}

func (w *work) findings(result reconciler.Result) findings {
	texts := func(lists ...[]reconciler.Notice) map[types.ObjectID]string {
		found := map[types.ObjectID]string{}
		for _, notice := range slices.Concat(lists...) {
			found[types.IDOf(notice.Object)] = notice.Message
		}
		return found
	}
	f := findings{
		waits: texts(result.Waits, result.Aftermath.Waits), failures: texts(result.Failures, result.Aftermath.Failures),
		errors: texts(result.Errors), notes: texts(result.Notes), verbs: w.verbs,
	}
	for _, action := range result.Actions {
		for _, object := range action.Objects {
			id := types.IDOf(object)
			switch isWrite := action.Verb == inventory.VerbCreated || action.Verb == inventory.VerbUpdated; {
			case isWrite && w.same[id]:
				delete(w.same, id)
			case isWrite && w.existed[id]:
				// If the engine has no record of it, it takes the object for one that it has just created.
				f.verbs[id] = verbTexts[inventory.VerbUpdated]
			default:
				f.verbs[id] = verbTexts[action.Verb]
			}
		}
	}
	return f
}

// collect takes what a step has done.
func (r *results) collect(w *work, state State) {
	f := w.findings(state.Result)
	left := map[types.ObjectID]bool{}
	for _, item := range w.inOrder(state.Result.Inventory) {
		id := types.IDOf(item)
		left[id] = true
		result, ok := ResourceSyncResult{}, false
		if w.pruned[id] != nil {
			result, ok = pruning(item, f)
		} else if task, wanted := w.tasks[id]; wanted {
			result, ok = applying(item, f)
			result = withTask(result, id, task)
		}
		if result.Status == ResultCodeSyncFailed && state.Phase.Running() {
			result.HookPhase = OperationRunning
		}
		before, isKnown := r.find(result.ResourceKey, result.SyncPhase)
		if ok && isKnown && before.HookPhase.Completed() && result.HookPhase.Running() && runsOnce(w.tasks[id]) {
			// It does not run again in this operation, even if its deletion has to be tried again.
			continue
		}
		if ok && result.Message == "" && result.HookPhase.Successful() {
			result.Message = "unchanged"
			if isKnown {
				result.Message = before.Message
				if !before.HookPhase.Completed() {
					result.Message = "healthy"
				}
			}
		}
		if ok {
			r.set(result)
		}
	}
	for _, id := range sortedIDs(w.pruned) {
		item := w.pruned[id]
		if left[id] || len(state.Result.Inventory) == 0 && state.Err != nil {
			continue
		}
		result := resultOf(item)
		result.Status, result.HookPhase, result.Message = ResultCodePruned, OperationSucceeded, "pruned"
		if note := f.notes[id]; note != "" && f.verbs[id] == "" {
			result.Status, result.Message = ResultCodePruneSkipped, note
		}
		if before, _ := r.find(result.ResourceKey, result.SyncPhase); before.Status != ResultCodePruneSkipped {
			r.set(result)
		}
	}
}

// hookRuns reports whether a hook is running.
func (w *work) hookRuns(result reconciler.Result) bool {
	f := w.findings(result)
	return slices.ContainsFunc(result.Inventory, func(item *inventory.Item) bool {
		id := types.IDOf(item)
		applied, begun := applying(item, f)
		return w.tasks[id].Hook && begun && applied.Status == ResultCodeSynced && applied.HookPhase.Running()
	})
}

// applying returns the result of an object that is applied; false if nothing was done about it yet.
func applying(item *inventory.Item, f findings) (result ResourceSyncResult, ok bool) {
	id := types.IDOf(item)
	failure, failed := f.failures[id]
	problem, erred := f.errors[id]
	result = ResourceSyncResult{Status: ResultCodeSynced}
	switch {
	case erred:
		result.Status, result.HookPhase, result.Message = ResultCodeSyncFailed, OperationFailed, problem
	case failed || item.Phase == inventory.PhaseFailed:
		result.HookPhase, result.Message = OperationFailed, failure
	case item.Phase == inventory.PhaseScheduledForApplication:
		return result, false
	case item.Phase == inventory.PhaseReady && f.waits[id] != "":
		result.HookPhase, result.Message = OperationRunning, f.waits[id]
	case hasEnded(item):
		result.HookPhase, result.Message = OperationSucceeded, f.verbs[id]
	default:
		result.HookPhase, result.Message = OperationRunning, cmp.Or(f.waits[id], f.verbs[id])
	}
	return result, true
}

// pruning returns the result of an object that is going to be pruned; false if nothing was done about it yet.
func pruning(item *inventory.Item, f findings) (result ResourceSyncResult, ok bool) {
	id := types.IDOf(item)
	result = resultOf(item)
	if problem, erred := f.errors[id]; erred {
		result.Status, result.HookPhase, result.Message = ResultCodeSyncFailed, OperationFailed, problem
		return result, true
	}
	if item.Phase == inventory.PhaseKept {
		result.Status, result.HookPhase, result.Message = ResultCodePruneSkipped, OperationSucceeded, cmp.Or(f.notes[id], "stays, because others need it, or because of its annotations")
		return result, true
	}
	result.Status, result.HookPhase, result.Message = ResultCodePruned, OperationSucceeded, cmp.Or(f.waits[id], "being deleted")
	return result, item.Phase == inventory.PhaseDeleting
}

// inOrder returns the items in the order in which their objects are applied or pruned.
func (w *work) inOrder(items []*inventory.Item) []*inventory.Item {
	order := func(item *inventory.Item) int {
		if w.pruned[types.IDOf(item)] != nil {
			return item.DeleteOrder
		}
		return item.ApplyOrder
	}
	return slices.SortedStableFunc(slices.Values(items), func(a, b *inventory.Item) int { return cmp.Compare(order(a), order(b)) })
}
