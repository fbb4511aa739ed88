// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/metrics"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/resource"
	"github.com/component-operator/runtime/pkg/component/internal/targets"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// SetupWithManager adds the reconciler to a manager, whose scheme must have the type of the components. It returns
// errors in the arguments of NewReconciler, and reads the identity of the cluster. If the API server does not serve the
// type yet, the controller begins when it does; the other controllers of the manager do not wait for that.
func (r *Reconciler[T]) SetupWithManager(mgr ctrl.Manager) error {
	options := controller.Options{
		MaxConcurrentReconciles: r.author.options.MaxConcurrentReconciles,
		EnableWarmup:            new(!r.author.options.DisableWarmup),
		NewQueue:                NewQueue,
		RateLimiter:             errorDelays(),
	}
	if r.author.options.Sharding != nil {
		options.NeedLeaderElection = new(false)
	}
	return r.SetupWithManagerAndBuilder(mgr, ctrl.NewControllerManagedBy(mgr).WithOptions(options))
}

// NewQueue returns a priority queue that raises the priority of waiting components, so that none starves.
// SetupWithManager uses it; callers of SetupWithManagerAndBuilder can set it as the option NewQueue of the controller.
func NewQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return queue.New(name, limiter, clock.RealClock{})
}

// SetupWithManagerAndBuilder is SetupWithManager with a controller that the caller has begun to build. The caller may
// have added watches and options, but neither the type of the components nor a name. Waiting components gain priority
// only if the option NewQueue of the controller is this package's NewQueue. Without the option RateLimiter, a failed
// pass is retried after 5 ms at first, the default of controller-runtime; SetupWithManager makes it a second.
func (r *Reconciler[T]) SetupWithManagerAndBuilder(mgr ctrl.Manager, blder *ctrl.Builder) error {
	if r.worker != nil {
		return fmt.Errorf("setting up the reconciler %s: it is already set up", r.author.name)
	}
	if r.err != nil {
		return fmt.Errorf("setting up the reconciler %s: %w", r.author.name, r.err)
	}
	w, err := r.newWorker(mgr)
	if err != nil {
		return fmt.Errorf("setting up the reconciler %s: %w", r.author.name, err)
	}
	if err := claimName(mgr, r.author.name); err != nil {
		return err
	}
	r.worker = w
	begin := func() error {
		if err := r.begin(mgr, blder); err != nil {
			return fmt.Errorf("setting up the reconciler %s: %w", r.author.name, err)
		}
		return nil
	}
	if preview, ok := mgr.(*Preview); ok {
		preview.workers = append(preview.workers, w)
		return begin()
	}
	served, err := w.isServed(mgr)
	switch {
	case err != nil:
		return fmt.Errorf("setting up the reconciler %s: %w", r.author.name, err)
	case served:
		return begin()
	}
	return mgr.Add(onAllReplicas(func(ctx context.Context) error {
		if !w.awaitType(ctx, mgr) {
			return nil
		}
		return begin()
	}))
}

// begin adds the controller to the manager. The type of the components must be served.
func (r *Reconciler[T]) begin(mgr ctrl.Manager, blder *ctrl.Builder) error {
	w := r.worker
	if err := w.findDefinition(mgr); err != nil {
		return err
	}
	if w.shards != nil {
		if err := mgr.Add(onAllReplicas(func(ctx context.Context) error { return w.share(ctx, r.queue) })); err != nil {
			return err
		}
	}
	// Different groups may have kinds of the same name.
	controllerName := strings.ToLower(w.resource.Kind.Kind) + "." + w.resource.Kind.Group
	made, err := blder.For(newOf[T](), builder.WithPredicates(w.filter())).
		WatchesRawSource(r.queue).
		Named(controllerName).
		Build(r)
	if err != nil {
		return err
	}
	if elected, ok := made.(manager.LeaderElectionRunnable); ok && r.author.options.Sharding != nil && elected.NeedLeaderElection() {
		return errors.New("option Sharding: the controller must not need leader election; build it with the option NeedLeaderElection set to false")
	}
	return nil
}

// typeInterval is the time between two looks whether the type of the components is served.
const typeInterval = 10 * time.Second

// isServed reports whether the API server serves the type of the components.
func (w *worker) isServed(mgr ctrl.Manager) (bool, error) {
	_, err := mgr.GetRESTMapper().RESTMapping(w.resource.Kind.GroupKind(), w.resource.Kind.Version)
	switch {
	case err == nil:
		w.unserved.Store(false)
	case meta.IsNoMatchError(err):
		w.unserved.Store(true)
	default:
		return false, fmt.Errorf("finding the resource of %s: %w", w.resource.Kind.Kind, err)
	}
	w.metrics.TypeMissing(w.unserved.Load())
	return err == nil, nil
}

// awaitType waits until the type of the components is served, and returns false if the operator ends before.
func (w *worker) awaitType(ctx context.Context, mgr ctrl.Manager) bool {
	log := mgr.GetLogger().WithValues("reconciler", w.name, "type", w.resource.Kind.String())
	log.Info("the type of the components is not served; the controller begins when it is")
	err := wait.PollUntilContextCancel(ctx, typeInterval, false, func(context.Context) (bool, error) {
		served, err := w.isServed(mgr)
		if err != nil {
			log.Error(err, "it is not known whether the type of the components is served")
		}
		return served, nil
	})
	if err == nil {
		log.Info("the type of the components is served now; the controller begins")
	}
	return err == nil
}

// ReadyCheck fails until the components have been listed, or their type is not served. Add it to a manager by
// AddReadyzCheck. It does not check the watches of dependents: a kind that cannot be watched must not make the operator
// unavailable.
func (r *Reconciler[T]) ReadyCheck(req *http.Request) error {
	switch {
	case r.worker == nil:
		return errNotSetUp
	case r.worker.unserved.Load():
		return nil
	}
	return r.worker.synced(req.Context())
}

func newOf[T Component]() Component {
	// NewReconciler has checked that T is a pointer to a struct.
	component, _ := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(Component)
	return component
}

func (r *Reconciler[T]) newWorker(mgr ctrl.Manager) (*worker, error) {
	gvk, err := apiutil.GVKForObject(newOf[T](), mgr.GetScheme())
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %s: %w", reflect.TypeFor[T](), err)
	}
	w := &worker{
		author: r.author,
		resource: &resource.Client{
			Kind: gvk, New: func() client.Object { return newOf[T]() }, ClearStatus: clearStatus, Client: mgr.GetClient(), Live: mgr.GetAPIReader(),
			FieldOwner: *r.author.options.FieldOwner, OwnFields: statusFields,
		},
		cache:     mgr.GetCache(),
		scheme:    mgr.GetScheme(),
		extension: loadExtension[T](mgr.GetClient()),
		walker:    walker{extension: reflect.TypeFor[Reference[T]]()},
		memories:  newMemories(),
		places:    queue.NewPlaces(r.author.options.MaxConcurrentReconciles, r.author.options.slowVisit),
	}
	for _, connect := range []func(ctrl.Manager, *queue.Wakeups) error{w.identifyCluster, w.connectClients, w.watchReferences, w.watchObjects, w.prepareRollout, w.shareWork} {
		if err := connect(mgr, r.queue); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// clearStatus empties the Status of a component.
func clearStatus(object client.Object) {
	if component, ok := object.(Component); ok {
		*component.GetStatus() = Status{}
	}
}

// loadExtension handles implementations of Reference[T].
func loadExtension[T Component](clnt client.Client) func(context.Context, any, Component) (string, error) {
	return func(ctx context.Context, value any, component Component) (string, error) {
		reference, isReference := value.(Reference[T])
		if !isReference {
			return "", fmt.Errorf("%T is not a reference for a %T", value, component)
		}
		if err := reference.Load(ctx, clnt, ownOf[T](component)); err != nil {
			return "", err
		}
		return reference.Digest(), nil
	}
}

// identifyCluster reads the UID of kube-system, a namespace that every cluster has and that cannot be deleted.
func (w *worker) identifyCluster(_ ctrl.Manager, _ *queue.Wakeups) error {
	namespace := &corev1.Namespace{}
	//nolint:contextcheck // SetupWithManager has no context; the request is bounded by the client's own timeout
	if err := w.resource.Live.Get(context.Background(), client.ObjectKey{Name: "kube-system"}, namespace); err != nil {
		return fmt.Errorf("reading the identity of the cluster: %w", err)
	}
	w.clusterID = string(namespace.UID)
	return nil
}

func (w *worker) connectClients(mgr ctrl.Manager, queue *queue.Wakeups) error {
	var err error
	if w.metrics, err = metrics.New(nil, strings.ToLower(w.resource.Kind.Kind)+"."+w.resource.Kind.Group); err != nil {
		return err
	}
	var builders []types.SchemeBuilder
	if own, ok := w.generator.(types.SchemeBuilder); ok {
		builders = append(builders, own)
	}
	if w.options.SchemeBuilder != nil {
		builders = append(builders, w.options.SchemeBuilder)
	}
	scheme, err := clients.NewScheme(builders...)
	if err != nil {
		return err
	}
	wrap := w.metrics.Requests
	_, isPreview := mgr.(*Preview)
	if isPreview {
		// Clusters that kubeconfigs lead to are not changed either.
		wrap = func(transport http.RoundTripper) http.RoundTripper { return guarded(w.metrics.Requests(transport)) }
	}
	factory, err := clients.New(clients.Options{
		Name: w.name, Config: mgr.GetConfig(), Scheme: scheme, WrapTransport: wrap, Metrics: w.metrics,
		Patience: w.options.patience, Hosts: w.options.AllowedTargets,
	})
	if err != nil {
		return err
	}
	w.local = factory.Local()
	if w.options.NewClient != nil {
		if w.local, err = w.options.NewClient(w.local); err != nil {
			return fmt.Errorf("creating the local client: %w", err)
		}
	}
	w.events = factory.Local().EventRecorder()
	if isPreview {
		w.events = &record.FakeRecorder{}
	}
	connections := targets.New(targets.Options{
		Factory: factory, Name: w.name, Engine: w.engineOptions(mgr.GetLogger()),
		Changed: waking(w, queue), TypesChanged: func() {
			for key, remembered := range w.memories.all() {
				if remembered.typed.Load() {
					queue.Wake(key)
				}
			}
		},
		Dropped: w.places.Forget,
	})
	w.targets = connections
	w.panics.Count = w.metrics.Panics.Inc
	w.calls = generation.NewCalls(generation.Options{
		Patience: w.options.generatorPatience, Wake: queue.Wake, Took: w.metrics.Generated, Panics: &w.panics,
	})
	// Errors in the policies must appear now, not with the first component.
	if _, err := connections.Local(); err != nil {
		return err
	}
	return mgr.Add(untilEnd(func() {
		connections.Close()
		factory.Close()
	}))
}

// waking returns a function that schedules a pass after a change of another object: at once, or with a delay if that
// happens too often.
func waking(w *worker, queue *queue.Wakeups) func(key apitypes.NamespacedName) {
	return func(key apitypes.NamespacedName) {
		queue.WakeAfter(key, w.allowances.Delay(key, w.options.Clock.Now()))
	}
}

func (w *worker) engineOptions(log logr.Logger) reconciler.Options {
	return reconciler.Options{
		FieldOwner:             *w.options.FieldOwner,
		OwnerKind:              w.resource.Kind.Kind,
		Finalizer:              *w.options.Finalizer,
		FormerFinalizers:       w.options.finalizers().Former,
		RetainOutcomes:         true,
		Policies:               w.options.policies(),
		AwaitTypes:             w.options.AwaitTypes,
		OwnAnnotations:         w.options.OwnAnnotations,
		ReclaimedFieldManagers: w.options.ReclaimedFieldManagers,
		Judge:                  w.options.judge(w.name),
		AwaitReports:           w.options.AwaitReports,
		InstanceValidator:      w.options.InstanceValidator,
		OnOperation:            w.metrics.Operated,
		Clock:                  w.options.Clock,
		Log:                    log.WithValues("reconciler", w.name),
	}
}

func (w *worker) watchReferences(mgr ctrl.Manager, queue *queue.Wakeups) error {
	clnt, err := metadata.NewForConfigAndClient(metadata.ConfigFor(w.local.Config()), w.local.HttpClient())
	if err != nil {
		return fmt.Errorf("creating a client for metadata: %w", err)
	}
	w.referenced = observe.NewReferenceWatcher(observe.ReferenceOptions{
		Reader: w.local, Metadata: clnt, Notify: waking(w, queue), Log: mgr.GetLogger().WithValues("reconciler", w.name),
	})
	return mgr.Add(untilEnd(w.referenced.Close))
}

// untilEnd calls the function when the manager stops.
func untilEnd(end func()) manager.Runnable {
	return onAllReplicas(func(ctx context.Context) error {
		<-ctx.Done()
		end()
		return nil
	})
}

// onAllReplicas runs on all replicas of an operator, including those that do not lead.
type onAllReplicas manager.RunnableFunc

// Start calls the function.
func (f onAllReplicas) Start(ctx context.Context) error { return f(ctx) }

// NeedLeaderElection is false.
func (f onAllReplicas) NeedLeaderElection() bool { return false }

// synced fails while the cache of components is not complete.
func (w *worker) synced(ctx context.Context) error {
	informer, err := w.cache.GetInformer(ctx, w.resource.New(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %s: %w", w.resource.Kind.Kind, err)
	}
	if !informer.HasSynced() {
		return fmt.Errorf("the cache of %s is not complete yet", w.resource.Kind.Kind)
	}
	return nil
}

// names contains the names of the reconcilers of each manager. They must differ, because owner IDs do not contain
// kinds.
var names sync.Map

type claimedName struct {
	mgr  manager.Manager
	name string
}

// claimName fails if another reconciler of the manager has the name.
func claimName(mgr manager.Manager, name string) error {
	claim := claimedName{mgr: mgr, name: name}
	if _, taken := names.LoadOrStore(claim, true); taken {
		return fmt.Errorf("setting up the reconciler %s: the manager already has a reconciler with this name", name)
	}
	return mgr.Add(untilEnd(func() { names.Delete(claim) }))
}
