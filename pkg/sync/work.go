// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// definition has the inputs of an operation. They do not change.
type definition struct {
	settings
	revision, namespace, owner string
	declared                   ReconciliationResult
	startedAt                  metav1.Time
	client                     cluster.Client
	engine                     *reconciler.Reconciler
	judge                      status.Judge
	info                       *declaredTypes
}

// work contains the tasks and the state of an operation.
type work struct {
	// tasks must be applied; the keys are the identities of their objects.
	tasks map[types.ObjectID]syncTask
	// obsolete are the live objects that are not declared.
	obsolete map[types.ObjectID]*unstructured.Unstructured
	// pruned are the items of objects that must be deleted.
	pruned map[types.ObjectID]*inventory.Item
	// strays are live objects whose finalizers must be removed: their operation has ended or was not completed, or they
	// are hooks that Argo CD has run.
	strays []*unstructured.Unstructured
	// stays are obsolete objects that are kept.
	stays []*pruneItem
	// outside are the items of objects that the operation leaves alone, and that are not in the inventory.
	outside []*inventory.Item
	// spared are recorded dependents that are not passed to the engine, because the operation leaves them alone.
	spared []*inventory.Item
	// request is the next request to the engine. If saveFirst is set, its inventory must be saved before, because it
	// records that objects that have ended are applied again.
	request   reconciler.ApplyRequest
	saveFirst bool
	// same are the objects that are as declared according to a dry run, although the engine has no record of that.
	same map[types.ObjectID]bool
	// existed are the objects that existed before the operation.
	existed map[types.ObjectID]bool
	// operation identifies the operation. unplaced maps the identities of objects of unknown types without a namespace
	// to their identities as tasks.
	operation string
	unplaced  map[types.ObjectID]types.ObjectID
	// verbs describe the actions on objects, for messages.
	verbs map[types.ObjectID]string
}

// assemble returns the work of the operation. It changes nothing.
func (c *syncContext) assemble(ctx context.Context) (*work, error) {
	w := &work{
		tasks: map[types.ObjectID]syncTask{}, obsolete: map[types.ObjectID]*unstructured.Unstructured{}, pruned: map[types.ObjectID]*inventory.Item{},
		same: map[types.ObjectID]bool{}, existed: map[types.ObjectID]bool{}, verbs: map[types.ObjectID]string{}, unplaced: map[types.ObjectID]types.ObjectID{},
		operation: c.digest(),
	}
	c.info = newTypes(c.client.RESTMapper(), c.declared)
	objects, excluded := c.choose(w)
	namespace, err := c.ownNamespace(ctx, objects)
	if err != nil {
		return nil, err
	}
	if namespace != nil {
		objects = append(objects, namespace)
	}
	list, err := tasksOf(ctx, objects, taskOptions{namespace: c.namespace, operation: c.owner + " " + c.digest(), force: c.force})
	if err != nil {
		return nil, &invalidError{reasons: []string{err.Error()}}
	}
	w.request = c.request()
	for _, task := range list {
		id := c.place(task.Object)
		w.tasks[id] = task
		if _, err := c.info.IsNamespaced(id.GroupKind); err != nil {
			w.unplaced[types.ObjectID{GroupKind: id.GroupKind, Name: id.Name}] = id
		}
		if w.obsolete[id] != nil {
			// It is declared now, as a hook.
			delete(w.obsolete, id)
			w.existed[id] = true
		}
		w.request.Objects = append(w.request.Objects, task.Object)
	}
	c.heedLive(w)
	w.strays = slices.DeleteFunc(w.strays, func(hook *unstructured.Unstructured) bool {
		_, wanted := w.tasks[c.place(hook)]
		return wanted && hook.GetLabels()[ownerLabel] != ""
	})
	c.recall(w, excluded)
	return w, nil
}

// heedLive applies the options of live objects to their tasks, except tasks that run once: these must be the same in
// each process of an operation, although the live object changes meanwhile.
func (c *syncContext) heedLive(w *work) {
	for i, live := range c.declared.Live {
		if target := c.declared.Target[i]; target != nil && live != nil {
			if task, wanted := w.tasks[c.place(target)]; wanted && !runsOnce(task) {
				task.Heed(live.GetAnnotations())
			}
		}
	}
}

// id returns the identity of an object as the key of its task. The engine puts objects of unknown types into no
// namespace.
func (w *work) id(object types.ObjectKey) types.ObjectID {
	id := types.IDOf(object)
	if placed, ok := w.unplaced[id]; ok {
		return placed
	}
	return id
}

// begun reports whether an item is about this operation: digests of hooks end with the digest of the operation that has
// applied them.
func (w *work) begun(item *inventory.Item, task syncTask) bool {
	return !task.Hook || item.Digest == digestCompleted || strings.HasSuffix(item.Digest, "@"+w.operation)
}

// digestCompleted is the digest of items of objects that have ended in another process. The engine cannot compare it.
const digestCompleted = "completed"

// digest identifies the operation.
func (c *syncContext) digest() string {
	return c.revision + " " + c.startedAt.UTC().Format("2006-01-02T15:04:05Z")
}

// choose returns the objects to apply, and the identities of objects that the operation leaves alone. It adds obsolete
// objects, strays and outside ones to the work.
func (c *syncContext) choose(w *work) (objects []*unstructured.Unstructured, excluded map[types.ObjectID]bool) {
	excluded = map[types.ObjectID]bool{}
	for _, hook := range c.declared.Hooks {
		if c.skipHooks {
			item := itemOf(hook)
			item.Namespace = c.place(hook).Namespace
			excluded[c.place(hook)], w.outside = true, append(w.outside, item)
		} else {
			objects = append(objects, hook)
		}
	}
	for i, target := range c.declared.Target {
		live := c.declared.Live[i]
		if target == nil && live == nil {
			continue
		}
		object := target
		if object == nil {
			object = live
		}
		id := c.place(object)
		switch {
		case c.filter != nil && !c.filter(keyOf(id), target, live), target != nil && isLeftOut(target):
			excluded[id] = true
			if live != nil {
				w.outside = append(w.outside, itemOf(live))
			}
		case target != nil:
			objects = append(objects, target)
			w.existed[id] = live != nil
		case isHook(live):
			w.strays = append(w.strays, live)
			if c.skipHooks {
				w.outside = append(w.outside, itemOf(live))
			}
		case !excluded[id]:
			w.obsolete[id] = live
		}
	}
	return objects, excluded
}

// isLeftOut reports whether no operation applies an object.
func isLeftOut(object *unstructured.Unstructured) bool {
	steering, err := gitops.Read(object.GetAnnotations())
	return err == nil && len(operationPhases(steering)) == 0
}

// place returns the identity of an object in the cluster. If its type is unknown, this is a guess.
func (c *syncContext) place(object *unstructured.Unstructured) types.ObjectID {
	key := GetResourceKey(object)
	key.Namespace = placesOf(object, c.namespace, c.info)[0].Namespace
	return key.id()
}

// recall decides which recorded dependents and obsolete objects are passed to the engine, and which are left alone.
func (c *syncContext) recall(w *work, excluded map[types.ObjectID]bool) {
	var obsolete []*inventory.Item
	for _, item := range c.inventory {
		id := w.id(item)
		task, wanted := w.tasks[id]
		switch {
		case wanted:
			recalled := c.recalled(item, task)
			w.request.Inventory, w.saveFirst = append(w.request.Inventory, recalled), w.saveFirst || recalled != item
			w.existed[id] = w.existed[id] || item.UID != ""
		case isOver(item):
			// The item only recorded that.
		case w.obsolete[id] == nil && (excluded[id] || c.spares(item)):
			w.spared = append(w.spared, item)
		default:
			obsolete = append(obsolete, item)
		}
	}
	c.judgeObsolete(w, obsolete)
}

// judgeObsolete decides which obsolete objects are pruned, and which are kept.
func (c *syncContext) judgeObsolete(w *work, recorded []*inventory.Item) {
	isRecorded := map[types.ObjectID]bool{}
	for _, item := range recorded {
		isRecorded[types.IDOf(item)] = true
	}
	live := slices.Collect(maps.Values(w.obsolete))
	for _, item := range itemsToPrune(live, recorded, pruneOptions{
		Propagation: c.propagation, Last: c.pruneLast, Owner: c.owner, Confirmed: c.pruneConfirmed, Outside: slices.Concat(w.outside, w.spared),
	}) {
		id := types.IDOf(item)
		if c.prune && item.Kept == "" {
			w.pruned[id] = item.Item
			w.request.Inventory = append(w.request.Inventory, item.Item)
			continue
		}
		live := w.obsolete[id]
		if c.prune || live != nil {
			w.stays = append(w.stays, item)
		}
		if live != nil {
			// An operation that was not completed may have left it with a finalizer.
			w.release(live)
		}
		if isRecorded[id] {
			w.spared = append(w.spared, item.Item)
		}
	}
}

// isOver reports whether the object of an item has completed, or has failed and was deleted.
func isOver(item *inventory.Item) bool {
	return item.Phase == inventory.PhaseCompleted || item.Phase == inventory.PhaseFailed && item.UID == ""
}

// spares reports whether the operation leaves alone a recorded dependent that is neither declared nor among the live
// objects. With a filter, it always does: the filter may exclude the dependent, and cannot be called without an object.
// Without a filter, it leaves alone hooks if hooks are skipped or pruning is off.
func (c *syncContext) spares(item *inventory.Item) bool {
	wasHook := item.ReconcilePolicy == inventory.ReconcilePolicyOnObjectOrComponentChange
	return c.filter != nil || wasHook && (c.skipHooks || !c.prune)
}

// request returns the request to the engine without objects and inventory.
func (c *syncContext) request() reconciler.ApplyRequest {
	policies := reconciler.Policies{
		Adoption: reconciler.AdoptionPolicyAlways, Update: reconciler.UpdatePolicySsaOverride, MissingNamespaces: reconciler.MissingNamespacesPolicyDoNotCreate,
		PruneAt: reconciler.PruneAtWaves, DeletePropagation: cmp.Or(c.propagation, "Foreground"),
	}
	if c.replace {
		policies.Update = reconciler.UpdatePolicyReplace
	}
	if c.pruneLast {
		policies.PruneAt = reconciler.PruneAtEnd
	}
	request := reconciler.ApplyRequest{
		Owner: reconciler.Owner{ID: c.owner, Namespace: c.namespace, Store: c}, Version: "1", Digest: c.digest(), Policies: policies,
	}
	request.Fence = func() error {
		if c.terminating() {
			return errTerminated
		}
		return nil
	}
	if c.waveHook != nil {
		request.AfterWave = func(_ context.Context, order int, final bool) error {
			phase := SyncPhasePostSync
			hook, wave := types.SplitOrder(order)
			if hook == "" {
				var of gitops.Phase
				of, wave = gitops.PhaseOf(order)
				phase = SyncPhase(of)
			}
			if err := c.waveHook(phase, wave, final); err != nil {
				return fmt.Errorf("wave hook, wave %d of %s: %w", wave, phase, err)
			}
			return nil
		}
	}
	return request
}

// ownNamespace returns the manifest of the operation's namespace; nil if it must not be applied.
func (c *syncContext) ownNamespace(ctx context.Context, objects []*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if c.namespaceModifier == nil || c.namespace == "" {
		return nil, nil
	}
	id := types.ObjectID{GroupKind: namespaces, Name: c.namespace}
	for _, object := range objects {
		if types.IDOf(object) == id {
			return nil, nil
		}
	}
	managed, live := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	for _, namespace := range []*unstructured.Unstructured{managed, live} {
		namespace.SetAPIVersion("v1")
		namespace.SetKind("Namespace")
		namespace.SetName(c.namespace)
	}
	switch err := c.client.Get(ctx, client.ObjectKeyFromObject(live), live); {
	case apierrors.IsNotFound(err):
		live = nil
	case err != nil:
		return nil, fmt.Errorf("reading the namespace of the operation: %w", err)
	}
	apply, err := c.namespaceModifier(managed, live)
	if err != nil {
		invalid := &invalidError{}
		invalid.refuse(id, ResourceSyncResult{ResourceKey: keyOf(id), Version: "v1", SyncPhase: SyncPhasePreSync}, err.Error())
		return nil, invalid
	}
	if !apply {
		return nil, nil
	}
	managed.SetAnnotations(labels.Merge(managed.GetAnnotations(), map[string]string{
		Name + "/" + types.AnnotationKeySuffixApplyOrder:   fmt.Sprint(types.MinOrder),
		Name + "/" + types.AnnotationKeySuffixDeleteOrder:  fmt.Sprint(types.MaxOrder),
		Name + "/" + types.AnnotationKeySuffixUpdatePolicy: types.UpdatePolicySsaMerge, // the labels of others stay
		Name + "/" + types.AnnotationKeySuffixPrunePolicy:  types.PrunePolicyKeep,
		Name + "/" + types.AnnotationKeySuffixDeletePolicy: types.DeletePolicyOrphan,
	}))
	return managed, nil
}
