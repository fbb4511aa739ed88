// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/pkg/objectset/internal/revisions"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// deployments reconciles deployments of one kind. What is to be done is decided by package revisions; every write of it can be repeated.
type deployments struct {
	// name is that of the controller, the field manager, and the finalizer.
	name string
	kind deploymentKind

	client client.Client
	live   client.Reader
	events events.EventRecorder
}

// deploymentKind has what is different between ObjectDeployments and ClusterObjectDeployments.
type deploymentKind struct {
	name          string
	newDeployment func() v1alpha1.Deployment
	newSet        func() v1alpha1.Set
	newSets       func() client.ObjectList
}

// staleDelay is how long to wait for the cache after a write has met a newer state of an object.
const staleDelay = time.Second

// setupDeployments adds the controller of one kind.
func setupDeployments(mgr ctrl.Manager, name string, kind deploymentKind, options Options) error {
	d := deployments{
		name: name, kind: kind, client: client.WithFieldOwner(mgr.GetClient(), name), live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(name),
	}
	return ctrl.NewControllerManagedBy(mgr).Named(name).
		For(kind.newDeployment()).
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

// Reconcile makes one step with a deployment.
func (d deployments) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	deployment := d.kind.newDeployment()
	if err := d.client.Get(ctx, request.NamespacedName, deployment); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	sets, err := setsIn(ctx, d.client, d.kind.newSets(), request.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	found := revisions.Of(deployment, sets)
	decision, refusal := found.Decide()
	failure := d.act(ctx, deployment, decision)
	if isStale(failure) {
		return reconcile.Result{RequeueAfter: staleDelay}, nil
	}
	if decision.Done && failure == nil {
		return reconcile.Result{}, nil
	}
	if err := d.report(ctx, deployment, found.Report(refusal, failure)); err != nil && failure == nil {
		failure = err
	}
	return reconcile.Result{}, failure
}

// report writes the status, if it has changed.
func (d deployments) report(ctx context.Context, deployment v1alpha1.Deployment, status v1alpha1.DeploymentStatus) error {
	if equality.Semantic.DeepEqual(deployment.GetDeploymentStatus(), &status) {
		return nil
	}
	changed, err := changedCopy(deployment, func(changed v1alpha1.Deployment) { *changed.GetDeploymentStatus() = status })
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(d.client.Status().Patch(ctx, changed, client.MergeFrom(deployment)))
}

// isStale reports whether a write has met a newer state than that of the cache. Nothing is wrong then.
func isStale(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// act does what is decided. It stops at the first error.
func (d deployments) act(ctx context.Context, deployment v1alpha1.Deployment, decision revisions.Decision) error {
	switch {
	case decision.Done:
		return patch(ctx, d.client, deployment, func(changed v1alpha1.Deployment) { controllerutil.RemoveFinalizer(changed, d.name) })
	case deployment.GetDeletionTimestamp() == nil && !controllerutil.ContainsFinalizer(deployment, d.name):
		err := patch(ctx, d.client, deployment, func(changed v1alpha1.Deployment) { controllerutil.AddFinalizer(changed, d.name) })
		if err != nil {
			return fmt.Errorf("adding the finalizer: %w", err)
		}
	}
	if decision.RollBackTo != nil {
		return d.rollBack(ctx, deployment, decision.RollBackTo)
	}
	if err := d.adopt(ctx, deployment, decision.Adopt); err != nil {
		return err
	}
	for _, change := range decision.Change {
		if err := d.change(ctx, deployment, change); err != nil {
			return fmt.Errorf("changing set %s: %w", change.Set.GetName(), err)
		}
	}
	if decision.Create != nil {
		if err := d.create(ctx, deployment, decision.Create); err != nil {
			return fmt.Errorf("creating set %s: %w", decision.Create.GetName(), err)
		}
	}
	for _, set := range decision.Delete {
		preconditions := client.Preconditions{UID: new(set.GetUID()), ResourceVersion: new(set.GetResourceVersion())}
		if err := d.client.Delete(ctx, set, preconditions); err != nil {
			return fmt.Errorf("deleting set %s: %w", set.GetName(), err)
		}
	}
	return nil
}

// rollBack copies the spec of a set to the template, and removes the request for that, in one write. The change cause comes with it.
func (d deployments) rollBack(ctx context.Context, deployment v1alpha1.Deployment, target v1alpha1.Set) error {
	err := patch(ctx, d.client, deployment, func(changed v1alpha1.Deployment) {
		changed.TakeFrom(target)
		changed.GetDeploymentSpec().RollbackTo = nil
		changed.SetAnnotations(revisions.WithChangeCause(changed.GetAnnotations(), target.GetAnnotations()[v1alpha1.AnnotationChangeCause]))
	})
	if err != nil {
		return fmt.Errorf("rolling back to set %s: %w", target.GetName(), err)
	}
	d.note(deployment, target, "RolledBack", "RollBack", "The template is that of revision %d again", target.GetSetSpec().Revision)
	return nil
}

// adopt makes the deployment the controller of sets, if the server still has it.
func (d deployments) adopt(ctx context.Context, deployment v1alpha1.Deployment, sets []v1alpha1.Set) error {
	if len(sets) == 0 {
		return nil
	}
	current := d.kind.newDeployment()
	if err := d.live.Get(ctx, client.ObjectKeyFromObject(deployment), current); err != nil {
		return fmt.Errorf("reading the deployment before it adopts sets: %w", err)
	}
	if current.GetUID() != deployment.GetUID() || current.GetDeletionTimestamp() != nil {
		return nil
	}
	for _, set := range sets {
		var failure error
		err := patch(ctx, d.client, set, func(changed v1alpha1.Set) {
			failure = controllerutil.SetControllerReference(deployment, changed, d.client.Scheme())
		})
		if err == nil {
			err = failure
		}
		if err != nil {
			return fmt.Errorf("adopting set %s: %w", set.GetName(), err)
		}
		d.note(deployment, set, "Adopted", "Adopt", "Set %s is adopted", set.GetName())
	}
	return nil
}

// change changes the settings of a set.
func (d deployments) change(ctx context.Context, deployment v1alpha1.Deployment, change revisions.Change) error {
	err := patch(ctx, d.client, change.Set, change.Want.ApplyTo)
	if err == nil && change.Want.Lifecycle != change.Set.GetSetSpec().LifecycleState {
		d.note(deployment, change.Set, "Lifecycle"+string(change.Want.Lifecycle), "SetLifecycle", "Set %s becomes %s", change.Set.GetName(), change.Want.Lifecycle)
	}
	return err
}

// create creates a set.
func (d deployments) create(ctx context.Context, deployment v1alpha1.Deployment, set v1alpha1.Set) error {
	if err := controllerutil.SetControllerReference(deployment, set, d.client.Scheme()); err != nil {
		return err
	}
	if err := d.client.Create(ctx, set); err != nil {
		return err
	}
	d.note(deployment, set, "Created", "Create", "Set %s is created", set.GetName())
	return nil
}

// patch changes an object, provided that it is still in the state in which it was read.
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

// note emits an event about a deployment.
func (d deployments) note(deployment v1alpha1.Deployment, set v1alpha1.Set, reason, action, format string, values ...any) {
	d.events.Eventf(deployment, set, corev1.EventTypeNormal, reason, action, format, values...)
}
