// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// deployments reconciles deployments of one kind. What is to be done is decided by package revisions; every write of it
// can be repeated.
type deployments struct {
	// name is that of the controller, the field manager, and the finalizer.
	name string
	kind deploymentKind

	client client.Client
	live   client.Reader
	events events.EventRecorder
	stale  *attempts
}

// deploymentKind has what is different between ObjectDeployments and ClusterObjectDeployments.
type deploymentKind struct {
	name          string
	newDeployment func() v1alpha1.Deployment
	newSet        func() v1alpha1.Set
	newSets       func() client.ObjectList
}

// A write that meets a newer state of an object is repeated after a delay, when the cache has that state. After some
// attempts, it counts as failed.
const (
	staleDelay    = time.Second
	staleAttempts = 3
)

// refusedDelay is how long to wait before a write is repeated that the API server has refused. No event tells when it
// would be accepted.
const refusedDelay = time.Minute

// setupDeployments adds the controller of one kind.
func setupDeployments(mgr ctrl.Manager, name string, kind deploymentKind, options Options) error {
	d := deployments{
		name: name, kind: kind, client: client.WithFieldOwner(mgr.GetClient(), name), live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(name),
		stale: &attempts{counts: map[apitypes.NamespacedName]int{}},
	}
	// Writes of the status change neither.
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).Named(name).
		For(kind.newDeployment(), builder.WithPredicates(changed)).
		Watches(kind.newSet(), handler.EnqueueRequestsFromMapFunc(kind.deploymentOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.MaxConcurrentReconciles}).
		Complete(d)
}

// deploymentOf returns the deployment that a set belongs to, or that may adopt it.
func (k deploymentKind) deploymentOf(_ context.Context, set client.Object) []reconcile.Request {
	name := set.GetLabels()[v1alpha1.LabelRevisionsOf]
	if owner := metav1.GetControllerOfNoCopy(set); owner != nil {
		group, err := schema.ParseGroupVersion(owner.APIVersion)
		if err != nil || group.Group != v1alpha1.GroupVersion.Group || owner.Kind != k.name {
			return nil
		}
		name = owner.Name
	}
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: set.GetNamespace(), Name: name}}}
}

// ends returns a function that reports whether a set has the same deployment as a given one, and that is being deleted
// with its sets.
func (k deploymentKind) ends(ctx context.Context, reader client.Reader, set client.Object) (func(client.Object) bool, error) {
	deployment := k.newDeployment()
	for _, request := range k.deploymentOf(ctx, set) {
		if err := reader.Get(ctx, request.NamespacedName, deployment); client.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	ends := deployment.GetDeletionTimestamp() != nil && !slices.Contains(deployment.GetFinalizers(), metav1.FinalizerOrphanDependents)
	return func(other client.Object) bool {
		return ends && metav1.IsControlledBy(set, deployment) && metav1.IsControlledBy(other, deployment)
	}, nil
}

// Reconcile makes one step with a deployment.
func (d deployments) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	deployment := d.kind.newDeployment()
	if err := d.client.Get(ctx, request.NamespacedName, deployment); err != nil {
		d.stale.forget(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	sets, err := setsIn(ctx, d.client, d.kind.newSets(), request.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	found := revisionsOf(deployment, sets)
	decision, refusal := found.Decide()
	writer := deploymentWriter{
		deployment: deployment, finalizer: d.name, newDeployment: d.kind.newDeployment, client: d.client, live: d.live, events: d.events,
	}
	failure := writer.do(ctx, decision)
	if len(decision.Adopt) > 0 && failure != nil && !isStale(failure) {
		// Sets that cannot be adopted do not hold up the others.
		decision, refusal = found.WithoutOrphans().Decide()
		failure = errors.Join(failure, writer.do(ctx, decision))
	}
	switch {
	case !isStale(failure):
		d.stale.forget(request.NamespacedName)
	case d.stale.add(request.NamespacedName) <= staleAttempts:
		return reconcile.Result{RequeueAfter: staleDelay}, nil
	}
	if decision.Done && failure == nil {
		return reconcile.Result{}, nil
	}
	switch err := d.report(ctx, deployment, found.Report(refusal, failure)); {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: staleDelay}, nil
	case err != nil:
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if isRefused(failure) {
		return reconcile.Result{RequeueAfter: refusedDelay}, nil
	}
	return reconcile.Result{}, failure
}

// isStale reports whether writes have met nothing but newer states than those of the cache. Nothing is wrong then.
func isStale(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(one error) bool { return !isStale(one) })
	}
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// attempts counts attempts that were in vain.
type attempts struct {
	mu     sync.Mutex
	counts map[apitypes.NamespacedName]int
}

// add returns the number of attempts in a row.
func (a *attempts) add(key apitypes.NamespacedName) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts[key]++
	return a.counts[key]
}

func (a *attempts) forget(key apitypes.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.counts, key)
}
