// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"slices"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

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
			found[w.id(notice.Object)] = notice.Message
		}
		return found
	}
	f := findings{
		waits: texts(result.Waits, result.Aftermath.Waits), failures: texts(result.Failures, result.Aftermath.Failures),
		errors: texts(result.Errors), notes: texts(result.Notes), verbs: w.verbs,
	}
	for _, action := range result.Actions {
		for _, object := range action.Objects {
			id := w.id(object)
			switch isWrite := action.Verb == inventory.VerbCreated || action.Verb == inventory.VerbUpdated; {
			case isWrite && w.same[id]:
				delete(w.same, id)
			case isWrite && w.existed[id]:
				// It was deleted, and created again.
				f.verbs[id] = verbTexts[inventory.VerbUpdated]
			default:
				f.verbs[id] = verbTexts[action.Verb]
			}
		}
	}
	return f
}

// collect takes what a step has done.
func (r *results) collect(w *work, f findings, state State) {
	left := map[types.ObjectID]bool{}
	for _, item := range state.Result.Inventory {
		left[w.id(item)] = true
	}
	items := slices.Clone(state.Result.Inventory)
	if len(items) > 0 || state.Err == nil {
		for id, item := range w.pruned {
			if !left[id] {
				items = append(items, item)
			}
		}
	}
	for _, item := range w.inOrder(items) {
		id := w.id(item)
		if !left[id] {
			r.takeGone(item, f)
			continue
		}
		result, ok := w.resultOf(item, f)
		if result.Status == ResultCodeSyncFailed && state.Phase.Running() {
			result.HookPhase = OperationRunning
		}
		task, wanted := w.tasks[id]
		if ok {
			r.take(result, wanted && runsOnce(task))
		}
	}
}

// resultOf returns the result of an item; false if nothing was done about it yet, or if it is none of the operation's
// business.
func (w *work) resultOf(item *inventory.Item, f findings) (result ResourceSyncResult, ok bool) {
	id := w.id(item)
	if w.pruned[id] != nil {
		return pruning(item, f)
	}
	task, wanted := w.tasks[id]
	if !wanted || !w.begun(item, task) {
		return ResourceSyncResult{}, false
	}
	result, ok = applying(item, id, f)
	if ended := outcome(item); ended.Successful() && runsOnce(task) {
		// Its deletion may still be under way, or have to be tried again.
		result.Status, result.HookPhase, result.Message = ResultCodeSynced, ended, f.verbs[id]
	} else if ended.Failed() && runsOnce(task) {
		result.Status, result.HookPhase = ResultCodeSynced, ended
	}
	return withTask(result, id, task), ok
}

// take adds or updates the result of an object. What runs once does not run again in an operation, even if its deletion
// has to be tried again.
func (r *results) take(result ResourceSyncResult, once bool) {
	before, isKnown := r.find(result.ResourceKey, result.SyncPhase)
	switch {
	case isKnown && once && before.hasEnded() && (result.HookPhase.Running() || before.HookPhase.Failed() && result.HookPhase.Failed()):
		return
	case result.Message != "" || !result.HookPhase.Successful():
	case isKnown && before.HookPhase.Completed():
		result.Message = before.Message
	case isKnown:
		result.Message = "healthy"
	default:
		result.Message = "unchanged"
	}
	r.set(result)
}

// takeGone records that an obsolete object is gone, or no longer ours.
func (r *results) takeGone(item *inventory.Item, f findings) {
	id, result := types.IDOf(item), resultOf(item)
	if before, _ := r.find(result.ResourceKey, result.SyncPhase); before.Status == ResultCodePruneSkipped {
		return
	}
	result.Status, result.HookPhase, result.Message = ResultCodePruned, OperationSucceeded, "pruned"
	if note := f.notes[id]; note != "" && f.verbs[id] == "" {
		result.Status, result.Message = ResultCodePruneSkipped, note
	}
	r.set(result)
}

// hookRuns reports whether a hook is running.
func (w *work) hookRuns(f findings, result reconciler.Result) bool {
	return slices.ContainsFunc(result.Inventory, func(item *inventory.Item) bool {
		applied, begun := w.resultOf(item, f)
		return begun && applied.HookType != "" && applied.Status == ResultCodeSynced && applied.HookPhase.Running()
	})
}

// hasFailed reports whether SyncFail hooks have begun, so that the operation has failed, whatever becomes of its
// objects.
func (r *results) hasFailed() bool {
	return slices.ContainsFunc(r.list, func(result ResourceSyncResult) bool { return result.SyncPhase == SyncPhaseSyncFail })
}

// outcome says how the object of an item has ended; empty if it has not.
func outcome(item *inventory.Item) OperationPhase {
	switch item.Phase {
	case inventory.PhaseFailed:
		return OperationFailed
	case inventory.PhaseScheduledForCompletion, inventory.PhaseCompleting, inventory.PhaseCompleted:
		return OperationSucceeded
	case inventory.PhaseCreating, inventory.PhaseUpdating, inventory.PhaseReady:
		if item.Status == status.FailedStatus {
			return OperationFailed
		}
		// A Job or Pod that was ready before it was deleted had ended.
		isEnding := item.Status == status.TerminatingStatus && observe.RunsToCompletion(item.GroupVersionKind().GroupKind())
		if item.Phase == inventory.PhaseReady && (item.Status == status.CurrentStatus || isEnding) {
			return OperationSucceeded
		}
	case inventory.PhaseScheduledForApplication, inventory.PhaseScheduledForDeletion, inventory.PhaseDeleting, inventory.PhaseKept:
	}
	return ""
}

// applying returns the result of an object that is applied; false if nothing was done about it yet.
func applying(item *inventory.Item, id types.ObjectID, f findings) (result ResourceSyncResult, ok bool) {
	failure, failed := f.failures[id]
	problem, erred := f.errors[id]
	result = ResourceSyncResult{Status: ResultCodeSynced}
	switch {
	case erred:
		result.Status, result.HookPhase, result.Message = ResultCodeSyncFailed, OperationFailed, problem
	case failed || item.Phase == inventory.PhaseFailed:
		result.HookPhase, result.Message = OperationFailed, cmp.Or(failure, "failed, and is being deleted")
	case item.Phase == inventory.PhaseScheduledForApplication:
		return result, false
	case outcome(item).Successful() && (item.Phase != inventory.PhaseReady || f.waits[id] == ""):
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
		result.Status, result.HookPhase = ResultCodePruneSkipped, OperationSucceeded
		result.Message = cmp.Or(f.notes[id], "kept because others need it or because of its annotations")
		return result, true
	}
	result.Status, result.HookPhase, result.Message = ResultCodePruned, OperationSucceeded, cmp.Or(f.waits[id], "being deleted")
	return result, item.Phase == inventory.PhaseDeleting
}

// inOrder returns the items in the order in which their objects are pruned or applied.
func (w *work) inOrder(items []*inventory.Item) []*inventory.Item {
	place := func(item *inventory.Item) (order, rank int) {
		if w.pruned[w.id(item)] != nil {
			return item.DeleteOrder, 0
		}
		return item.ApplyOrder, 1
	}
	return slices.SortedFunc(slices.Values(items), func(a, b *inventory.Item) int {
		orderA, rankA := place(a)
		orderB, rankB := place(b)
		return cmp.Or(cmp.Compare(orderA, orderB), cmp.Compare(rankA, rankB), types.IDOf(a).Compare(types.IDOf(b)))
	})
}
