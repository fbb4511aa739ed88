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
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// results are the results of an operation, in the order in which they came. The zero value has none.
type results struct {
	list []ResourceSyncResult
	at   map[resultKey]int
}

// Messages quote objects, and have to fit into the status of whatever records the operation. These are the maximum
// lengths of the message of a result, and of that of the operation, in bytes.
const longestResult, longestMessage = 1 << 10, 8 << 10

// resultKey identifies a result: an object may have one in each phase.
type resultKey struct {
	object ResourceKey
	phase  SyncPhase
}

// set adds a result, or updates that of the same object in the same phase. It keeps the message if there is no new one.
func (r *results) set(result ResourceSyncResult) {
	result.Message = texts.Truncate(result.Message, longestResult)
	key := resultKey{object: result.ResourceKey, phase: result.SyncPhase}
	at, known := r.at[key]
	if !known {
		if r.at == nil {
			r.at = map[resultKey]int{}
		}
		result.Order = len(r.list) + 1
		r.at[key] = len(r.list)
		r.list = append(r.list, result)
		return
	}
	result.Message = cmp.Or(result.Message, r.list[at].Message)
	result.Order = r.list[at].Order
	r.list[at] = result
}

// goneText is what is said of an obsolete object that was gone before it could be pruned.
const goneText = "is gone"

// settle says of objects that were being deleted that they are gone. Another process than the one that has requested
// their deletion may have nothing to do about them.
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

func (r *results) all() []ResourceSyncResult { return slices.Clone(r.list) }

// foreignText is why an obsolete object is not pruned.
const foreignText = "belongs to another owner"

// verbTexts say what was done about an object.
var verbTexts = map[inventory.Verb]string{
	inventory.VerbCreated: "created", inventory.VerbAdopted: "adopted", inventory.VerbUpdated: "updated", inventory.VerbCorrected: "corrected", inventory.VerbRestored: "restored",
	inventory.VerbCompleted: "completed, and deleted", inventory.VerbDeleted: "deleted",
}

// resultFor returns the result of a task, without what was done.
func resultFor(id types.ObjectID, task syncTask) ResourceSyncResult {
	return withTask(ResourceSyncResult{}, id, task)
}

// withTask returns a result with the identity of the object, and when it is applied.
func withTask(result ResourceSyncResult, id types.ObjectID, task syncTask) ResourceSyncResult {
	result.ResourceKey, result.Version, result.SyncPhase = keyOf(id), task.Object.GroupVersionKind().Version, SyncPhase(task.Phase)
	if task.Hook {
		result.HookType = HookType(task.Phase)
	}
	return result
}

// resultOf returns the result of an obsolete object, without what was done.
func resultOf(item *inventory.Item) ResourceSyncResult {
	return ResourceSyncResult{ResourceKey: keyOf(types.IDOf(item)), Version: item.Version, SyncPhase: SyncPhaseSync}
}

// skipped returns the results of obsolete objects that stay.
func (c *syncContext) skipped(w *work) []ResourceSyncResult {
	list := make([]ResourceSyncResult, len(w.stays))
	for i, item := range w.stays {
		list[i] = resultOf(item.Item)
		list[i].Status, list[i].HookPhase, list[i].Message = ResultCodePruneSkipped, OperationSucceeded, item.Kept
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

// plannedResult returns the result of a dry run about one object; false if the object is none of the operation's business.
func (w *work) plannedResult(change reconciler.Change) (result ResourceSyncResult, ok bool) {
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
	result = resultOf(item)
	result.Status, result.HookPhase, result.Message = ResultCodePruned, OperationSucceeded, "would be pruned"
	mark := ""
	if live := w.obsolete[id]; live != nil {
		mark = live.GetLabels()[ownerLabel]
	}
	switch {
	case item.PrunePolicy == inventory.PrunePolicyConfirm && !w.confirmed:
		result.Message = "would be pruned after approval"
	case mark != "" && mark != w.mark:
		result.Status, result.Message = ResultCodePruneSkipped, foreignText
	case mark != "" && change.Verb != inventory.VerbDeleted:
		result.Status, result.Message = ResultCodePruneSkipped, cmp.Or(change.Reason, "would be kept")
	}
	return result, true
}

// failure says why an operation has failed.
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
		// Errors about single objects repeat what their results say, where they may be truncated.
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

// progress says what an operation waits for.
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

// A ReconciliationResult pairs what is declared with what exists.
type ReconciliationResult struct {
	// Live are the objects that exist, each at the place of its target; nil if the target does not exist.
	Live []*unstructured.Unstructured
	// Target are the declared objects; nil at the places of objects that exist without being declared.
	Target []*unstructured.Unstructured
	// Hooks are the declared hooks.
	Hooks []*unstructured.Unstructured
}

// Reconcile pairs declared objects with those that exist. Declared objects that name no namespace are in the given one,
// if their type is namespaced; if that is not known, both are tried, so that an object that exists is never taken for
// one that is not declared. Hooks are set apart. Declared objects that no operation applies (those to be skipped, and
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
