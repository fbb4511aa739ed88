// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// results are the results of an operation, in order of appearance. The zero value has none.
type results struct {
	list []ResourceSyncResult
	at   map[resultKey]int
}

// longestResult and longestMessage are the maximum lengths of the message of a result and of the operation, in bytes.
// Messages quote objects, and must fit into the status of the object that records the operation.
const longestResult, longestMessage = 1 << 10, 8 << 10

// resultKey identifies a result: an object may have one in each phase.
type resultKey struct {
	object ResourceKey
	phase  SyncPhase
}

// set adds a result, or updates that of the same object in the same phase. Without a new message, it keeps the old one.
func (r *results) set(result ResourceSyncResult) {
	result.Message = texts.Truncate(result.Message, longestResult)
	key := resultKey{object: result.ResourceKey, phase: result.SyncPhase}
	if at, known := r.at[key]; known {
		result.Message, result.Order = cmp.Or(result.Message, r.list[at].Message), r.list[at].Order
		r.list[at] = result
		return
	}
	if r.at == nil {
		r.at = map[resultKey]int{}
	}
	result.Order = len(r.list) + 1
	r.at[key] = len(r.list)
	r.list = append(r.list, result)
}

// goneText is the message for an obsolete object that was gone before it could be pruned.
const goneText = "is gone"

// settle records that objects that were being deleted are gone. A process that has not requested their deletion may
// have no other occasion for it.
func (r *results) settle() {
	for i := range r.list {
		if r.list[i].Status == ResultCodePruned && r.list[i].Message != goneText {
			r.list[i].Message = "pruned"
		}
	}
}

// hasEnded reports whether an object was applied, and has completed or failed since.
func (r ResourceSyncResult) hasEnded() bool {
	return r.Status == ResultCodeSynced && r.HookPhase.Completed()
}

// find returns the result of an object in a phase.
func (r *results) find(key ResourceKey, phase SyncPhase) (ResourceSyncResult, bool) {
	at, known := r.at[resultKey{object: key, phase: phase}]
	if !known {
		return ResourceSyncResult{}, false
	}
	return r.list[at], true
}

// foreignText is the reason why a foreign obsolete object is not pruned.
const foreignText = "belongs to another owner"

// verbTexts are the messages for actions on an object.
var verbTexts = map[inventory.Verb]string{
	inventory.VerbCreated: "created", inventory.VerbAdopted: "adopted", inventory.VerbUpdated: "updated", inventory.VerbCorrected: "corrected", inventory.VerbRestored: "restored",
	inventory.VerbCompleted: "completed, and deleted", inventory.VerbDeleted: "deleted",
}

// withTask returns a result with the identity of the object, and the phase of the task.
func withTask(result ResourceSyncResult, id types.ObjectID, task syncTask) ResourceSyncResult {
	result.ResourceKey, result.Version, result.SyncPhase = keyOf(id), task.Object.GroupVersionKind().Version, SyncPhase(task.Phase)
	if task.Hook {
		result.HookType = HookType(task.Phase)
	}
	return result
}

// resultOf returns the result of an obsolete object.
func resultOf(item *inventory.Item, status ResultCode, message string) ResourceSyncResult {
	return ResourceSyncResult{
		ResourceKey: keyOf(types.IDOf(item)), Version: item.Version, SyncPhase: SyncPhaseSync, Status: status, HookPhase: OperationSucceeded, Message: message,
	}
}

// skipped returns the results of obsolete objects that are kept.
func (c *syncContext) skipped(w *work) []ResourceSyncResult {
	list := make([]ResourceSyncResult, len(w.stays))
	for i, item := range w.stays {
		list[i] = resultOf(item.Item, ResultCodePruneSkipped, item.Kept)
		if !c.prune {
			list[i].Message = "kept because pruning is off"
		}
	}
	return list
}

// isSame reports whether a planned change turned out to change nothing.
func isSame(change reconciler.Change) bool {
	return !change.Recreate && change.Before != nil && reflect.DeepEqual(change.Before, change.After)
}

// plannedResult returns the result of a dry run for one object; false if the object does not concern the operation.
func (c *syncContext) plannedResult(w *work, change reconciler.Change) (result ResourceSyncResult, ok bool) {
	id := w.id(change.Object)
	result = ResourceSyncResult{Status: ResultCodeSynced, HookPhase: OperationSucceeded, Message: "would not change"}
	if task, wanted := w.tasks[id]; wanted {
		if change.Verb != "" && !w.same[id] {
			result.Message = "would be " + verbTexts[change.Verb]
		}
		return withTask(result, id, task), true
	}
	item := w.pruned[id]
	if item == nil {
		return result, false
	}
	result = resultOf(item, ResultCodePruned, "would be pruned")
	live := w.obsolete[id]
	isMarked := live != nil && live.GetLabels()[ownerLabel] != ""
	switch {
	case item.PrunePolicy == inventory.PrunePolicyConfirm && !c.pruneConfirmed:
		result.Message = "would be pruned after approval"
	case isMarked && isForeign(live, c.owner):
		result.Status, result.Message = ResultCodePruneSkipped, foreignText
	case isMarked && change.Verb != inventory.VerbDeleted:
		result.Status, result.Message = ResultCodePruneSkipped, cmp.Or(change.Reason, "would be kept")
	}
	return result, true
}

// failure returns the message of a failed operation.
func (r *results) failure(state State) string {
	var reasons []string
	for _, result := range r.list {
		if result.HookPhase.Failed() || result.Status == ResultCodeSyncFailed {
			reasons = append(reasons, result.ResourceKey.id().String()+": "+result.Message)
		}
	}
	for _, notice := range slices.Concat(state.Result.Waits, state.Result.Aftermath.Waits) {
		if notice.Doomed {
			reasons = append(reasons, types.IDOf(notice.Object).String()+": "+notice.Message)
		}
	}
	_, isRefused := errors.AsType[*reconciler.RefusedError](state.Err)
	if state.Err != nil && (len(reasons) == 0 || !isRefused) {
		// Errors about single objects repeat their results, where messages may be truncated.
		const told = "\x00"
		text := state.Err.Error()
		for _, notice := range state.Result.Errors {
			prefix := types.IDOf(notice.Object).String() + ": "
			if slices.Contains(reasons, prefix+texts.Truncate(notice.Message, longestResult)) {
				text = strings.ReplaceAll(text, prefix+notice.Message, told)
			}
		}
		lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.HasSuffix(line, told) })
		if len(lines) > 0 {
			reasons = append(reasons, strings.Join(lines, "\n"))
		}
	}
	if problem := state.Result.Aftermath.Problem; problem != "" {
		reasons = append(reasons, "SyncFail hooks could not be applied: "+problem)
	}
	return enumerate(reasons)
}

// progress returns the message of a running operation: what it waits for.
func (w *work) progress(state State) string {
	if state.Err != nil {
		return "trying again after: " + state.Err.Error()
	}
	var hooks, others []string
	for _, notice := range slices.Concat(state.Result.Waits, state.Result.Aftermath.Waits) {
		id := w.id(notice.Object)
		if w.tasks[id].Hook {
			hooks = append(hooks, fmt.Sprintf("hook %s (%s)", id, notice.Message))
		} else {
			others = append(others, fmt.Sprintf("%s (%s)", id, notice.Message))
		}
	}
	waits := slices.Concat(hooks, others)
	if held := state.Result.Held; held != nil {
		for _, object := range held.Objects {
			waits = append(waits, fmt.Sprintf("approval to prune %s", types.IDOf(object)))
		}
	}
	switch count := len(waits); count {
	case 0:
		return "waiting"
	case 1:
		return "waiting for " + waits[0]
	default:
		return fmt.Sprintf("waiting for %s and %d more", waits[0], count-1)
	}
}

// A ReconciliationResult pairs declared objects with existing ones.
type ReconciliationResult struct {
	// Live are the existing objects, each at the index of its target; nil if the target does not exist.
	Live []*unstructured.Unstructured
	// Target are the declared objects; nil at the indexes of existing objects that are not declared.
	Target []*unstructured.Unstructured
	// Hooks are the declared hooks.
	Hooks []*unstructured.Unstructured
}

// Reconcile pairs declared objects with existing ones. Declared objects that name no namespace are in the given one, if
// their type is namespaced; if that is unknown, both are tried, so that an existing object is never mistaken for an
// undeclared one. Hooks are returned separately. Declared objects that no operation applies (those to be skipped, and
// hooks of deletions, rollbacks and tests) are among the targets; they are neither applied nor pruned. An object that
// exists under the names of two API groups counts once. Neither the objects nor the map is changed.
func Reconcile(
	targetObjs []*unstructured.Unstructured, liveObjByKey map[ResourceKey]*unstructured.Unstructured, namespace string, resInfo ResourceInfoProvider,
) ReconciliationResult {
	var result ReconciliationResult
	rest := maps.Clone(liveObjByKey)
	paired := map[apitypes.UID]bool{}
	for _, target := range targetObjs {
		if isHook(target) && !isLeftOut(target) {
			// The operation reports problems of hooks.
			result.Hooks = append(result.Hooks, target)
			continue
		}
		var live *unstructured.Unstructured
		for _, key := range placesOf(target, namespace, resInfo) {
			if found := rest[key]; found != nil {
				live = found
				paired[live.GetUID()] = true
				delete(rest, key)
				break
			}
		}
		result.Target, result.Live = append(result.Target, target), append(result.Live, live)
	}
	delete(paired, "")
	for _, key := range slices.SortedFunc(maps.Keys(rest), func(a, b ResourceKey) int { return a.id().Compare(b.id()) }) {
		live := rest[key]
		if live == nil || paired[live.GetUID()] {
			continue
		}
		paired[live.GetUID()] = live.GetUID() != ""
		result.Target, result.Live = append(result.Target, nil), append(result.Live, live)
	}
	return result
}

// isHook reports whether an object is a hook. If its annotations cannot be read, a hook annotation suffices.
func isHook(object *unstructured.Unstructured) bool {
	given := object.GetAnnotations()
	steering, err := gitops.Read(given)
	return err == nil && steering.Hook || err != nil && (gitops.HasHook(given) || gitops.HasHelmHook(given))
}

// placesOf returns the keys under which a declared object may exist.
func placesOf(target *unstructured.Unstructured, namespace string, resInfo ResourceInfoProvider) []ResourceKey {
	key := GetResourceKey(target)
	inNamespace, outside := key, key
	inNamespace.Namespace, outside.Namespace = cmp.Or(key.Namespace, namespace), ""
	switch isNamespaced, err := resInfo.IsNamespaced(key.GroupKind()); {
	case err != nil:
		return []ResourceKey{inNamespace, outside}
	case isNamespaced:
		return []ResourceKey{inNamespace}
	default:
		return []ResourceKey{outside}
	}
}

// findings are the messages of a step about single objects.
type findings struct {
	waits, failures, errors, notes map[types.ObjectID]string
	// verbs describe the actions in this step or an earlier one.
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

// collect updates the results after a step.
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

// resultOf returns the result of an item; false if its turn has not come yet, or it does not concern the operation.
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
		// Its deletion may still be under way, or need another attempt.
		result.Status, result.HookPhase, result.Message = ResultCodeSynced, ended, f.verbs[id]
	} else if ended.Failed() && runsOnce(task) {
		result.Status, result.HookPhase = ResultCodeSynced, ended
	}
	return withTask(result, id, task), ok
}

// take adds or updates the result of an object. An object that runs once keeps its outcome in an operation, even if its
// deletion must be tried again.
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

// takeGone records that an obsolete object is gone or no longer belongs to the owner.
func (r *results) takeGone(item *inventory.Item, f findings) {
	id, result := types.IDOf(item), resultOf(item, ResultCodePruned, "pruned")
	if before, _ := r.find(result.ResourceKey, result.SyncPhase); before.Status == ResultCodePruneSkipped {
		return
	}
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

// hasFailed reports whether SyncFail hooks have begun, so that the operation has failed in any case.
func (r *results) hasFailed() bool {
	return slices.ContainsFunc(r.list, func(result ResourceSyncResult) bool { return result.SyncPhase == SyncPhaseSyncFail })
}

// outcome returns how the object of an item has ended; empty if it has not.
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

// applying returns the result of an object that is applied; false if its turn has not come yet.
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

// pruning returns the result of an object that will be pruned; false if its turn has not come yet.
func pruning(item *inventory.Item, f findings) (result ResourceSyncResult, ok bool) {
	id := types.IDOf(item)
	if problem, erred := f.errors[id]; erred {
		result = resultOf(item, ResultCodeSyncFailed, problem)
		result.HookPhase = OperationFailed
		return result, true
	}
	if item.Phase == inventory.PhaseKept {
		return resultOf(item, ResultCodePruneSkipped, cmp.Or(f.notes[id], "kept because others need it or because of its annotations")), true
	}
	return resultOf(item, ResultCodePruned, cmp.Or(f.waits[id], "being deleted")), item.Phase == inventory.PhaseDeleting
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
