// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/component-operator/runtime/internal/metrics"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/shards"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/generator"
)

// worker implements a Reconciler for components of any type.
type worker struct {
	name      string
	options   ReconcilerOptions
	clusterID string
	generator generator.Generator
	hooks     authorHooks
	// statusHooks complete statuses; siblings is nil if components have none.
	statusHooks []statusHook
	siblings    siblingsFunc
	// waveNames names the waves of a component; nil if they have numbers only.
	waveNames func(component Component, order int) string

	// resource reads and writes components.
	resource *resource.Client
	cache    cache.Cache
	local    cluster.Client
	metrics  *metrics.Controller
	events   record.EventRecorder

	// walker finds references in specs.
	walker walker
	// referenced notices changes of the objects that components refer to.
	referenced *observe.ReferenceWatcher
	// extension loads a Reference[T] and returns its digest.
	extension func(ctx context.Context, value any, component Component) (string, error)
	targets   targets.Connector
	places    *queue.Places
	// shards is nil without sharding.
	shards   *shards.Keeper
	memories *memories
	// calls calls the generator.
	calls *generation.Calls
	// panics catches panics.
	panics generation.Catcher
	turns  queue.Turns
	// allowances limit the passes that other objects cause.
	allowances queue.Allowances
	// misused is set if a hook was added too late.
	misused atomic.Bool
}

// hook is a HookFunc for a component of any type.
type hook func(ctx context.Context, clnt client.Client, component Component) error

// authorHooks are the hooks of the operator's author.
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

// reconcileOurs makes one pass if this replica holds the shard of the component.
func (w *worker) reconcileOurs(ctx context.Context, key apitypes.NamespacedName) (ctrl.Result, error) {
	if w.shards == nil {
		return w.reconcileOne(ctx, key, nil)
	}
	tenure, isOurs := w.shards.Enter(w.shardOf(key))
	if !isOurs {
		// The replica that holds the shard receives the same event.
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

// reconcileOne reads the component, runs the steps, and records the outcome.
func (w *worker) reconcileOne(ctx context.Context, key apitypes.NamespacedName, tenure *shards.Tenure) (result ctrl.Result, err error) {
	defer w.panics.Catch(log.FromContext(ctx), func(reason error) { result, err = ctrl.Result{}, reason })
	w.allowances.Spend(key, w.options.Clock.Now())
	component, err := w.fetch(ctx, key)
	if component == nil {
		return ctrl.Result{}, err
	}
	p, err := w.newPass(ctx, component, tenure)
	if err == nil {
		o := p.runBounded(ctx)
		for _, last := range []func(context.Context, outcomes.Outcome) outcomes.Outcome{p.liftBarriers, p.keepRecord} {
			o = p.rescued(func() outcomes.Outcome { return last(ctx, o) })
		}
		result, err = p.conclude(ctx, o)
	}
	w.metrics.Reconciled(err)
	if err != nil {
		// The controller's back-off decides when. Changes by users come before retries, and retries before components
		// that are merely due.
		result = ctrl.Result{Priority: new(queue.PriorityWoken)}
	}
	return result, err
}

// runBounded runs the steps, within the time limit of a pass.
func (p *pass) runBounded(ctx context.Context) outcomes.Outcome {
	var end func()
	p.stay, ctx, end = queue.BeginStay(ctx, p.worker.places, &p.memory.stay)
	defer end()
	return p.rescued(func() outcomes.Outcome {
		o := p.rescued(func() outcomes.Outcome { return p.run(ctx) })
		var remote queue.Remote
		if !p.destination.Moving() {
			// Otherwise, the dependents are in the cluster of another kubeconfig, and the messages say that they move.
			remote = queue.Remote{Server: p.destination.Server(), KubeConfigFrom: p.declared.KubeConfigFrom}
		}
		return p.stay.Interpret(ctx, o, remote, p.settings.timing.requeue)
	})
}

// rescued runs a step of a pass. A panic, in an author's code or in ours, becomes an ordinary error: it must not stop
// the operator for all other components, and the component must show it.
func (p *pass) rescued(step func() outcomes.Outcome) (o outcomes.Outcome) {
	defer p.worker.panics.Catch(p.log, func(reason error) { o = outcomes.Of(reason) })
	return step()
}

// abandonedDelay is the delay after a pass that has worked with outdated data.
const abandonedDelay = time.Second

// fetch returns the component; nil if it is gone.
func (w *worker) fetch(ctx context.Context, key apitypes.NamespacedName) (Component, error) {
	memoryOf := func(uid apitypes.UID) *resource.Memory { return &w.memories.of(key, uid).resource }
	object, err := w.resource.Fetch(ctx, key, memoryOf, w.shards != nil)
	if apierrors.IsNotFound(err) {
		w.forget(key)
		return nil, nil
	}
	component, _ := object.(Component)
	return component, err
}

// waves returns the names of the waves of a component.
func (w *worker) waves(component Component) outcomes.Waves {
	if w.waveNames == nil {
		return nil
	}
	return func(order int) string { return w.waveNames(component, order) }
}

// filter selects the events that matter: all but changes of the status and of metadata other than labels, annotations
// and finalizers. It drops events about components of other replicas.
func (w *worker) filter() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			w.memories.noteOrphaned(e.Object)
			return w.isOurs(e.Object)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			w.memories.forgetOrphaned(e.Object)
			return w.isOurs(e.Object)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			if e.ObjectOld == nil || e.ObjectNew == nil {
				return true
			}
			w.memories.noteOrphaned(e.ObjectNew)
			if !w.isOurs(e.ObjectNew) {
				return false
			}
			return resource.Concerns(e.ObjectOld, e.ObjectNew)
		},
	}
}

// forget drops everything remembered, watched and measured about a component.
func (w *worker) forget(key apitypes.NamespacedName) {
	w.leave(key)
	w.memories.forget(key)
	w.allowances.Forget(key)
}

// leave drops everything watched and measured about a component. It stays remembered until the cache shows that it is
// gone.
func (w *worker) leave(key apitypes.NamespacedName) {
	w.targets.Release(key, w.ownerID(key))
	w.referenced.Use(key, nil)
	w.metrics.RemoveComponent(w.series(key))
}

func (w *worker) series(key apitypes.NamespacedName) metrics.Component {
	kind := w.resource.Kind
	return metrics.Component{Group: kind.Group, Kind: kind.Kind, Namespace: key.Namespace, Name: key.Name}
}

// ownerID identifies a component as owner of its dependents, whatever cluster they are in. Existing clusters contain
// these IDs, so that the format is fixed. It has no kind, which is why two reconcilers of one name may not share a
// manager.
func (w *worker) ownerID(key apitypes.NamespacedName) string {
	return w.clusterID + "/" + key.Namespace + "/" + key.Name
}

// subject returns an object that only identifies a component.
func (w *worker) subject(key apitypes.NamespacedName, uid apitypes.UID) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(w.resource.Kind)
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetUID(uid)
	return object
}

// Reconcile makes one pass for a component. The manager calls it.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	if r.worker == nil {
		return ctrl.Result{}, errNotSetUp
	}
	if r.worker.misused.Load() {
		return ctrl.Result{}, errLateHook
	}
	return r.worker.reconcile(ctx, req.NamespacedName)
}
