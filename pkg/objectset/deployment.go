// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// deployments reconciles deployments of one kind. The methods of revisions decide what to do; every write can be
// repeated.
type deployments struct {
	// name is the name of the controller, its field manager, and its finalizer.
	name string
	kind deploymentKind

	client client.Client
	live   client.Reader
	events events.EventRecorder
	stale  workqueue.TypedRateLimiter[apitypes.NamespacedName] // counts writes that have met a newer state
	// reported has, by name, the resource version of each deployment before its status was last written.
	reported *sync.Map
}

// deploymentKind has the differences between ObjectDeployments and ClusterObjectDeployments.
type deploymentKind struct {
	name          string
	newDeployment func() v1alpha1.Deployment
	newSet        func() v1alpha1.Set
	newSets       func() client.ObjectList
}

// A write that conflicts with a newer state of an object is repeated after a delay, when the cache has that state.
// After staleAttempts repetitions, it counts as failed.
const (
	staleDelay    = time.Second
	staleAttempts = 3
)

// refusedDelay is the delay before repeating a write that the API server has refused. No event reports when the server
// would accept it.
const refusedDelay = time.Minute

// setupDeployments adds the controller of one kind.
func setupDeployments(mgr ctrl.Manager, name string, kind deploymentKind, options Options) error {
	d := deployments{
		name: name, kind: kind, client: client.WithFieldOwner(mgr.GetClient(), name), live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(name),
		stale: workqueue.NewTypedItemExponentialFailureRateLimiter[apitypes.NamespacedName](staleDelay, staleDelay), reported: &sync.Map{},
	}
	// Writes of the status change none of these. The garbage collector removes its finalizer when it has orphaned the sets.
	orphaned := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return controllerutil.ContainsFinalizer(e.ObjectOld, metav1.FinalizerOrphanDependents) &&
			!controllerutil.ContainsFinalizer(e.ObjectNew, metav1.FinalizerOrphanDependents)
	}}
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, orphaned)
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

// ends returns a function that reports whether a set has the same deployment as the given set, and this deployment is
// being deleted with its sets.
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
		d.stale.Forget(request.NamespacedName)
		d.reported.Delete(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	sets, err := setsIn(ctx, d.client, d.kind.newSets(), request.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	found := revisionsOf(deployment, sets)
	decision, refusal := found.Decide(true)
	writer := deploymentWriter{deployments: d, deployment: deployment}
	failure := writer.do(ctx, decision)
	if len(decision.Adopt) > 0 && failure != nil && !isStale(failure) {
		// Sets that cannot be adopted do not hold up the others.
		decision, refusal = found.Decide(false)
		failure = errors.Join(failure, writer.do(ctx, decision))
	}
	switch {
	case !isStale(failure):
		d.stale.Forget(request.NamespacedName)
	case d.stale.NumRequeues(request.NamespacedName) < staleAttempts:
		return reconcile.Result{RequeueAfter: d.stale.When(request.NamespacedName)}, nil
	}
	if decision.Done && failure == nil {
		return reconcile.Result{}, nil
	}
	switch err := d.report(ctx, deployment, found.Report(refusal, failure)); {
	case apierrors.IsConflict(err), errors.Is(err, errOutdated):
		return reconcile.Result{RequeueAfter: staleDelay}, nil
	case err != nil:
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if isRefused(failure) {
		return reconcile.Result{RequeueAfter: refusedDelay}, nil
	}
	return reconcile.Result{}, failure
}

// isStale reports whether writes have failed only because the cache is outdated, which is no problem.
func isStale(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(one error) bool { return !isStale(one) })
	}
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// deploymentWriter carries out decisions about a deployment. Every write requires that the object is still in the state
// that the decision is based on.
type deploymentWriter struct {
	deployments

	deployment v1alpha1.Deployment
}

// do makes all writes of a decision. If a write fails, it still makes those that do not depend on it.
func (w deploymentWriter) do(ctx context.Context, decision deploymentDecision) error {
	switch {
	case decision.Done:
		return patch(ctx, w.client, w.deployment, func(changed v1alpha1.Deployment) { controllerutil.RemoveFinalizer(changed, w.name) })
	case w.deployment.GetDeletionTimestamp() == nil && !controllerutil.ContainsFinalizer(w.deployment, w.name):
		var written v1alpha1.Deployment
		err := patch(ctx, w.client, w.deployment, func(changed v1alpha1.Deployment) {
			controllerutil.AddFinalizer(changed, w.name)
			written = changed
		})
		if err != nil {
			return fmt.Errorf("adding the finalizer: %w", err)
		}
		// The status is written in this state.
		w.deployment.SetFinalizers(written.GetFinalizers())
		w.deployment.SetResourceVersion(written.GetResourceVersion())
	}
	if decision.RollBackTo != nil {
		return w.rollBack(ctx, decision.RollBackTo)
	}
	problems := []error{w.adopt(ctx, decision.Adopt)}
	add := func(verb string, set v1alpha1.Set, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s set %s: %w", verb, set.GetName(), err))
		}
	}
	for _, set := range decision.Release {
		add("releasing", set, patch(ctx, w.client, set, w.release))
	}
	for _, change := range decision.Change {
		add("changing", change.Set, w.change(ctx, change))
	}
	if decision.Create != nil {
		add("creating", decision.Create, w.create(ctx, decision.Create))
	}
	for _, set := range decision.Delete {
		preconditions := client.Preconditions{UID: new(set.GetUID()), ResourceVersion: new(set.GetResourceVersion())}
		add("deleting", set, w.client.Delete(ctx, set, preconditions))
	}
	return errors.Join(problems...)
}

// rollBack copies the spec of a set to the template, and removes the request for that, in one write. It also copies the
// change cause. It is a JSON patch, because a merge patch cannot set null values.
func (w deploymentWriter) rollBack(ctx context.Context, target v1alpha1.Set) error {
	annotations := with(w.deployment.GetAnnotations(), v1alpha1.AnnotationChangeCause, target.GetAnnotations()[v1alpha1.AnnotationChangeCause])
	operations := []map[string]any{
		// A changed resource version is a conflict.
		{"op": "replace", "path": "/metadata/resourceVersion", "value": w.deployment.GetResourceVersion()},
		{"op": "replace", "path": "/spec/template/spec", "value": w.deployment.TemplateSpecOf(target)},
		{"op": "remove", "path": "/spec/rollbackTo"},
	}
	if len(annotations)+len(w.deployment.GetAnnotations()) > 0 {
		operations = append(operations, map[string]any{"op": "add", "path": "/metadata/annotations", "value": annotations}) // without those that are gone
	}
	encoded, err := json.Marshal(operations)
	if err == nil {
		object := w.kind.newDeployment()
		object.SetNamespace(w.deployment.GetNamespace())
		object.SetName(w.deployment.GetName())
		err = w.client.Patch(ctx, object, client.RawPatch(apitypes.JSONPatchType, encoded))
	}
	if err != nil {
		return fmt.Errorf("rolling back to set %s: %w", target.GetName(), err)
	}
	w.note(target, "RolledBack", "RollBack", "The template is that of set %s again", target.GetName())
	return nil
}

// adopt makes the deployment the controller of sets, if the server still has it.
func (w deploymentWriter) adopt(ctx context.Context, sets []v1alpha1.Set) error {
	if len(sets) == 0 {
		return nil
	}
	current := w.kind.newDeployment()
	if err := w.live.Get(ctx, client.ObjectKeyFromObject(w.deployment), current); err != nil {
		return fmt.Errorf("reading the deployment before it adopts sets: %w", err)
	}
	if current.GetUID() != w.deployment.GetUID() || current.GetDeletionTimestamp() != nil {
		return nil
	}
	var problems []error
	for _, set := range sets {
		var failure error
		err := patch(ctx, w.client, set, func(changed v1alpha1.Set) {
			failure = controllerutil.SetControllerReference(w.deployment, changed, w.client.Scheme())
		})
		if err = errors.Join(err, failure); err != nil {
			problems = append(problems, fmt.Errorf("adopting set %s: %w", set.GetName(), err))
			continue
		}
		w.note(set, "Adopted", "Adopt", "Set %s is adopted", set.GetName())
	}
	return errors.Join(problems...)
}

// release removes the deployment from the owners of a set.
func (w deploymentWriter) release(set v1alpha1.Set) {
	others := slices.DeleteFunc(set.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == w.deployment.GetUID() })
	set.SetOwnerReferences(others)
}

// change changes the settings of a set.
func (w deploymentWriter) change(ctx context.Context, change setChange) error {
	err := patch(ctx, w.client, change.Set, change.Want.ApplyTo)
	if err == nil && change.Want.Lifecycle != change.Set.GetSetSpec().LifecycleState {
		w.note(change.Set, "Lifecycle"+string(change.Want.Lifecycle), "SetLifecycle", "Set %s becomes %s", change.Set.GetName(), change.Want.Lifecycle)
	}
	return err
}

// create creates a set.
func (w deploymentWriter) create(ctx context.Context, set v1alpha1.Set) error {
	if err := controllerutil.SetControllerReference(w.deployment, set, w.client.Scheme()); err != nil {
		return err
	}
	if err := w.client.Create(ctx, set); err != nil {
		return err
	}
	w.note(set, "Created", "Create", "Set %s is created", set.GetName())
	return nil
}

// note emits an event about the deployment.
func (w deploymentWriter) note(set v1alpha1.Set, reason, action, format string, values ...any) {
	w.events.Eventf(w.deployment, set, corev1.EventTypeNormal, reason, action, format, values...)
}

// patch changes an object if it is still in the state in which it was read.
func patch[T client.Object](ctx context.Context, clnt client.Client, object T, change func(T)) error {
	changed, err := changedCopy(object, change)
	if err != nil {
		return err
	}
	return clnt.Patch(ctx, changed, client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{}))
}

// changedCopy returns a changed copy of an object.
func changedCopy[T client.Object](object T, change func(T)) (T, error) {
	changed, ok := object.DeepCopyObject().(T)
	if !ok {
		return changed, fmt.Errorf("the copy of a %T has another type", object)
	}
	change(changed)
	return changed, nil
}

// History returns the sets of a deployment, the newest first. The given sets are all of the kind in its namespace.
func History(deployment v1alpha1.Deployment, sets []v1alpha1.Set) []v1alpha1.Set {
	return revisionsOf(deployment, sets).own
}

// RollbackTarget returns the set that a deployment is rolled back to if spec.rollbackTo has the revision. Revision 0
// means the latest set before the current one that has succeeded. The error names the allowed revisions.
func RollbackTarget(deployment v1alpha1.Deployment, sets []v1alpha1.Set, revision int64) (v1alpha1.Set, error) {
	return revisionsOf(deployment, sets).RollbackTarget(revision)
}
