// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/component-operator/runtime/internal/metrics"
	"github.com/component-operator/runtime/internal/shards"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component/internal/declared"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/component/internal/stays"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/component/internal/visits"
	"github.com/component-operator/runtime/pkg/component/internal/warmup"
	"github.com/component-operator/runtime/pkg/generator"
)

// worker does what a Reconciler promises, for components of any type.
type worker struct {
	name      string
	options   ReconcilerOptions
	clusterID string
	generator generator.Generator
	hooks     authorHooks

	// resource reads and writes components.
	resource  *resource.Client
	cache     cache.Cache
	local     cluster.Client
	metrics   *metrics.Controller
	announcer *announcer

	loader *declared.Loader
	// extension loads a Reference[T] and returns its digest.
	extension func(ctx context.Context, value any, component Component) (string, error)
	targets   targets.Connector
	places    *visits.Places
	// shards is nil without sharding.
	shards *shards.Keeper
	// warmup is nil if it is disabled.
	warmup   *warmup.Warmup
	memories *memories
	turns    queue.Turns
	// allowances bound the passes that other objects cause.
	allowances queue.Allowances
	// misused is set if hooks were added too late.
	misused atomic.Bool
}

// hook is a HookFunc for a component of any type.
type hook func(ctx context.Context, component Component) error

// authorHooks are what the author of an operator has added.
type authorHooks struct {
	postRead, preReconcile, postReconcile, preDelete, postDelete []hook
}

// reconcile makes one pass.
func (w *worker) reconcile(ctx context.Context, key apitypes.NamespacedName) (ctrl.Result, error) {
	defer w.turns.Begin(key)()
	result, err := w.reconcileOurs(ctx, key)
	if result.RequeueAfter > 0 {
		result.RequeueAfter = max(result.RequeueAfter, soonest)
	}
	return result, err
}

// reconcileOurs makes one pass, if this replica may.
func (w *worker) reconcileOurs(ctx context.Context, key apitypes.NamespacedName) (ctrl.Result, error) {
	if w.shards == nil {
		return w.reconcileOne(ctx, key, nil)
	}
	tenure, isOurs := w.shards.Enter(w.shardOf(key))
	if !isOurs {
		// Whoever is in charge of the component has learnt by itself that there is something to do.
		return ctrl.Result{}, nil
	}
	defer tenure.Leave()
	ctx, cancel := tenure.Context(ctx)
	defer cancel()
	if tenure.Check() != nil {
		return ctrl.Result{RequeueAfter: abandonedDelay}, nil
	}
	return w.reconcileOne(ctx, key, tenure)
}

// reconcileOne reads the component, goes through the phases, and records how that ended.
func (w *worker) reconcileOne(ctx context.Context, key apitypes.NamespacedName, tenure *shards.Tenure) (result ctrl.Result, err error) {
	defer rescue(log.FromContext(ctx), func(reason error) { result, err = ctrl.Result{}, reason })
	w.allowances.Spend(key, w.options.Clock.Now())
	component, wait, err := w.fetch(ctx, key)
	if component == nil {
		return ctrl.Result{RequeueAfter: wait}, err
	}
	p, err := w.newPass(ctx, component, tenure)
	if err == nil {
		end := ending{p}
		o := p.runBounded(ctx)
		for _, last := range []func(context.Context, outcomes.Outcome) outcomes.Outcome{end.liftBarriers, end.keepRecord} {
			o = p.rescued(func() outcomes.Outcome { return last(ctx, o) })
		}
		result, err = end.conclude(ctx, o)
	}
	w.metrics.Reconciled(err)
	if err != nil {
		// The controller's back-off says when; what users change comes first, and what is merely due comes later.
		result = ctrl.Result{Priority: new(queue.PriorityWoken)}
	}
	return result, err
}

// runBounded goes through the phases, for as long as a pass may take. How it ended is recorded after that.
func (p *pass) runBounded(ctx context.Context) outcomes.Outcome {
	var end func()
	p.stay, ctx, end = stays.Begin(ctx, p.places, &p.memory.stay, p.key)
	defer end()
	return p.rescued(func() outcomes.Outcome {
		o := p.rescued(func() outcomes.Outcome { return p.run(ctx) })
		return p.stay.Interpret(ctx, o, p.declared.KubeConfigFrom, p.settings.timing.requeue)
	})
}

// rescued makes a step of a pass. A panic, be it of the code of an operator's author or of ours, is an error like any other: it must not
// take down the operator for all other components, and the component says so.
func (p *pass) rescued(step func() outcomes.Outcome) (o outcomes.Outcome) {
	defer rescue(p.log, func(reason error) {
		o = outcomes.Outcome{Kind: outcomes.Error, Message: reason.Error(), Err: reason}
	})
	return step()
}

// rescue is to be deferred. It ends a panic.
func rescue(log logr.Logger, caught func(reason error)) {
	if reason := recover(); reason != nil {
		log.Error(nil, "panic during the reconciliation", "reason", reason, "stack", string(debug.Stack()))
		caught(fmt.Errorf("panic: %v", reason))
	}
}

// abandonedDelay precedes the pass that follows one whose picture was outdated.
const abandonedDelay = time.Second

// fetch returns the component, or nil if there is nothing to be done now: it is gone, or the cache has to be awaited.
func (w *worker) fetch(ctx context.Context, key apitypes.NamespacedName) (Component, time.Duration, error) {
	memoryOf := func(uid apitypes.UID) *resource.Memory { return &w.memories.of(key, uid).resource }
	object, wait, err := w.resource.Fetch(ctx, key, memoryOf, w.shards != nil)
	if apierrors.IsNotFound(err) {
		w.forget(key)
		return nil, 0, nil
	}
	component, _ := object.(Component)
	return component, wait, err
}

// filter lets events about components through that may matter: everything but changes of status and of metadata other than
// labels, annotations and finalizers, and except for the version that a pass waits for. Components of which other replicas are
// in charge do not matter.
func (w *worker) filter() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			w.memories.saw(e.Object)
			return w.isOurs(e.Object)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			w.memories.unsee(e.Object)
			return w.isOurs(e.Object)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			if e.ObjectOld == nil || e.ObjectNew == nil {
				return true
			}
			w.memories.saw(e.ObjectNew)
			if !w.isOurs(e.ObjectNew) {
				return false
			}
			return resource.Concerns(e.ObjectOld, e.ObjectNew) || w.memories.awaits(client.ObjectKeyFromObject(e.ObjectNew), e.ObjectNew.GetResourceVersion())
		},
	}
}

// forget drops all that is remembered, watched and measured about a component.
func (w *worker) forget(key apitypes.NamespacedName) {
	w.leave(key)
	w.memories.forget(key)
	w.allowances.Forget(key)
}

// leave drops all that is watched and measured about a component. It is remembered until the cache knows that it is gone.
func (w *worker) leave(key apitypes.NamespacedName) {
	w.targets.Release(key, w.ownerID(key))
	w.loader.Watcher.Use(key, nil)
	w.metrics.RemoveComponent(w.series(key))
}

func (w *worker) series(key apitypes.NamespacedName) metrics.Component {
	kind := w.resource.Kind
	return metrics.Component{Group: kind.Group, Kind: kind.Kind, Namespace: key.Namespace, Name: key.Name}
}

// ownerID identifies a component as owner, whatever cluster its dependents are in. Its form is known to existing
// clusters; it holds no kind, which is why two reconcilers of one name may not share a manager.
func (w *worker) ownerID(key apitypes.NamespacedName) string {
	return w.clusterID + "/" + key.Namespace + "/" + key.Name
}

// subject returns an object that identifies a component and carries nothing else.
func (w *worker) subject(key apitypes.NamespacedName, uid apitypes.UID) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(w.resource.Kind)
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetUID(uid)
	return object
}
