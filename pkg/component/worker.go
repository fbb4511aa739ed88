// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
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
	"github.com/component-operator/runtime/pkg/component/internal/dependencies"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
)

// worker implements a Reconciler for components of any type.
type worker struct {
	author

	clusterID string

	// resource reads and writes components.
	resource *resource.Client
	cache    cache.Cache
	scheme   *runtime.Scheme
	local    cluster.Client
	metrics  *metrics.Controller
	events   record.EventRecorder

	// walker finds references in specs.
	walker walker
	// referenced watches the objects that components refer to.
	referenced *observe.ReferenceWatcher
	// objects are those that components depend on.
	objects *dependencies.Objects
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
	// rollout is nil without a rollout.
	rollout *versionRollout
	// allowances limit the passes that other objects cause.
	allowances queue.Allowances
	// misused is set if a hook was added too late.
	misused atomic.Bool
	// unserved is set while the type of the components is not served.
	unserved atomic.Bool
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

// abandonedDelay is the delay after a pass that was based on outdated data.
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
			w.follow(e.Object, false)
			w.memories.noteOrphaned(e.Object)
			return w.isOurs(e.Object)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			w.follow(e.Object, true)
			w.memories.orphaned.Delete(client.ObjectKeyFromObject(e.Object))
			return w.isOurs(e.Object)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			if e.ObjectOld == nil || e.ObjectNew == nil {
				return true
			}
			w.follow(e.ObjectNew, false)
			w.memories.noteOrphaned(e.ObjectNew)
			return w.isOurs(e.ObjectNew) && resource.Concerns(e.ObjectOld, e.ObjectNew)
		},
	}
}

// forget drops the watches, metrics and memory of a component.
func (w *worker) forget(key apitypes.NamespacedName) {
	w.leave(key)
	w.memories.forget(key)
	w.allowances.Forget(key)
}

// leave drops the watches and metrics of a component. Its memory stays until the cache shows that the component is
// gone.
func (w *worker) leave(key apitypes.NamespacedName) {
	w.targets.Release(key, w.ownerID(key))
	w.referenced.Use(key, nil)
	w.objects.Drop(key)
	w.metrics.RemoveComponent(w.series(key))
}

func (w *worker) series(key apitypes.NamespacedName) metrics.Component {
	kind := w.resource.Kind
	return metrics.Component{Group: kind.Group, Kind: kind.Kind, Namespace: key.Namespace, Name: key.Name}
}

// ownerID identifies a component as owner of its dependents in any cluster. Existing clusters contain these IDs, so the
// format is fixed. The ID has no kind, so the reconcilers of a manager must have different names.
func (w *worker) ownerID(key apitypes.NamespacedName) string {
	return w.clusterID + "/" + key.Namespace + "/" + key.Name
}

// identified returns an object that has only its identity.
func identified(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
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

// Sharding divides the components among the replicas of an operator, all of which work at the same time. The shard of a
// component is the first eight bytes of the SHA-256 of <namespace>/<name>, as a big-endian number, modulo the number of
// shards. One replica holds each shard, by a Lease named <name of the reconciler>-shard-<number>. The set of live
// replicas determines which replica holds which shard.
//
// A lease cannot stop a replica that was suspended at the wrong moment from writing. Older content never overwrites
// newer content nevertheless, because each write carries the resource version that was read. Hooks that write should do
// the same. Their context ends when the replica loses the shard.
type Sharding struct {
	// Shards is the number of shards; about ten per replica spread well. Replicas that run at the same time should have
	// the same number: replicas with a different number than the oldest one get no shards until it is gone. Required.
	Shards int
	// Namespace of the leases. Defaults to the namespace of the pod; required outside of a cluster.
	Namespace string
	// Identity of this replica, which must be unique. Defaults to the host name and random characters.
	Identity string
	// LeaseDuration is how long a replica may go without renewing its lease before it counts as dead; whole seconds, at
	// most one hour. Another replica then waits as long once more for the lease of each shard, because clocks may
	// differ, so that the shards of a killed replica are taken over after about twice this time. Defaults to 15
	// seconds.
	LeaseDuration time.Duration
	// RenewDeadline is how long a replica continues to write without renewing its lease; at least one second less than
	// LeaseDuration. Defaults to 10 seconds.
	RenewDeadline time.Duration
	// RetryPeriod is the interval between attempts to renew or acquire leases. Defaults to 2 seconds.
	RetryPeriod time.Duration
}

// complete returns a copy with all defaults that do not depend on where the process runs.
func (s *Sharding) complete(name string) (*Sharding, error) {
	if s == nil {
		return nil, nil
	}
	completed := *s
	completed.LeaseDuration = cmp.Or(s.LeaseDuration, 15*time.Second)
	completed.RenewDeadline = cmp.Or(s.RenewDeadline, 10*time.Second)
	completed.RetryPeriod = cmp.Or(s.RetryPeriod, 2*time.Second)
	var problems []error
	refuse := func(field string, value any, rule string) {
		problems = append(problems, fmt.Errorf("option Sharding.%s %v: %s", field, value, rule))
	}
	if s.Shards <= 0 {
		refuse("Shards", s.Shards, "must be positive")
	}
	if messages := validation.IsDNS1123Subdomain(shards.LeaseName(name, max(s.Shards, 1))); len(messages) > 0 {
		refuse("Shards", s.Shards, "makes the names of leases invalid: "+strings.Join(messages, "; "))
	}
	if messages := validation.IsDNS1123Label(s.Namespace); s.Namespace != "" && len(messages) > 0 {
		refuse("Namespace", s.Namespace, strings.Join(messages, "; "))
	}
	if completed.LeaseDuration < time.Second || completed.LeaseDuration > shards.LongestLease || completed.LeaseDuration%time.Second != 0 {
		refuse("LeaseDuration", completed.LeaseDuration, fmt.Sprintf("must be whole seconds, and at most %s", shards.LongestLease))
	}
	if completed.RenewDeadline > completed.LeaseDuration-time.Second {
		refuse("RenewDeadline", completed.RenewDeadline, fmt.Sprintf("must be at least one second less than LeaseDuration (%s)", completed.LeaseDuration))
	}
	if completed.RetryPeriod <= 0 || completed.RetryPeriod > completed.RenewDeadline/2 {
		refuse("RetryPeriod", completed.RetryPeriod, fmt.Sprintf("must be positive, and at most half of RenewDeadline (%s)", completed.RenewDeadline))
	}
	return &completed, errors.Join(problems...)
}

// podNamespace is the file with the namespace of the pod.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// locate sets the defaults that depend on where the process runs.
func (s *Sharding) locate() error {
	if s.Namespace == "" {
		namespace, err := os.ReadFile(podNamespace)
		if err != nil {
			return fmt.Errorf("option Sharding.Namespace: required, since the process does not run in a cluster: %w", err)
		}
		s.Namespace = strings.TrimSpace(string(namespace))
	}
	if s.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("option Sharding.Identity: required, since the host has no name: %w", err)
		}
		s.Identity = host + "-" + rand.String(8)
	}
	return nil
}

// shareWork starts the work on this replica's shards.
func (w *worker) shareWork(mgr ctrl.Manager, queue *queue.Wakeups) error {
	if w.options.Sharding == nil {
		return nil
	}
	options := *w.options.Sharding
	if err := options.locate(); err != nil {
		return err
	}
	// The operator's rate limit must not keep it from renewing its leases.
	config := rest.CopyConfig(w.local.Config())
	config.QPS, config.RateLimiter = -1, nil
	leases, err := coordinationv1client.NewForConfigAndClient(config, w.local.HttpClient())
	if err != nil {
		return fmt.Errorf("creating a client for leases: %w", err)
	}
	log := mgr.GetLogger().WithValues("reconciler", w.name, "replica", options.Identity)
	w.metrics.ShardsHeld(0)
	w.shards = shards.New(shards.Options{
		Name: w.name, Namespace: options.Namespace, Identity: options.Identity, Shards: options.Shards,
		LeaseDuration: options.LeaseDuration, RenewDeadline: options.RenewDeadline, RetryPeriod: options.RetryPeriod,
		Client: leases, Log: log,
		Acquired: func(shard int) {
			w.metrics.ShardsHeld(1)
			if err := w.takeOver(queue, shard); err != nil {
				log.Error(err, "the components of a shard cannot be listed; each is reconciled only when it changes", "shard", shard)
			}
		},
		Lost: w.handOver,
	})
	return nil
}

// share joins the other replicas once this one has listed the components.
func (w *worker) share(ctx context.Context, queue *queue.Wakeups) error {
	if _, err := w.cache.GetInformer(ctx, w.resource.New()); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("watching the components: %w", err)
	}
	select {
	case <-queue.Started:
	case <-ctx.Done():
		return nil
	}
	w.shards.Run(ctx)
	return nil
}

// shardOf must not be called without sharding.
func (w *worker) shardOf(key apitypes.NamespacedName) int {
	return w.shards.Of(key.Namespace, key.Name)
}

// isOurs reports whether this replica may start a pass of a component.
func (w *worker) isOurs(component client.Object) bool {
	return w.shards == nil || w.shards.Holds(w.shardOf(client.ObjectKeyFromObject(component)))
}

// takeOver schedules a pass of each component of a shard.
func (w *worker) takeOver(queue *queue.Wakeups, shard int) error {
	list, err := w.newList()
	if err != nil {
		return err
	}
	if err := w.cache.List(context.Background(), list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing components: %w", err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if component, ok := item.(client.Object); ok {
			if key := client.ObjectKeyFromObject(component); w.shardOf(key) == shard {
				queue.Due(key)
			}
		}
		return nil
	})
}

// newList returns an empty list of components.
func (w *worker) newList() (client.ObjectList, error) {
	object, err := w.scheme.New(w.resource.Kind.GroupVersion().WithKind(w.resource.Kind.Kind + "List"))
	if err != nil {
		return nil, fmt.Errorf("listing components: %w", err)
	}
	list, ok := object.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("listing components: %T is not a list", object)
	}
	return list, nil
}

// handOver drops the watches, metrics and memories of the components of a shard.
func (w *worker) handOver(shard int) {
	w.metrics.ShardsHeld(-1)
	for key := range w.memories.all() {
		if w.shardOf(key) == shard {
			w.forget(key)
		}
	}
}
