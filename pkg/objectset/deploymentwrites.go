// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// deploymentWriter does what is decided about a deployment. Every write is made on the condition that the object is
// still in the state that the decision is about.
type deploymentWriter struct {
	deployment v1alpha1.Deployment
	// finalizer is that of the deployment.
	finalizer     string
	newDeployment func() v1alpha1.Deployment

	client client.Client
	live   client.Reader
	events events.EventRecorder
}

// do makes all writes of a decision. If one fails, it makes those that do not depend on it.
func (w deploymentWriter) do(ctx context.Context, decision deploymentDecision) error {
	switch {
	case decision.Done:
		return patch(ctx, w.client, w.deployment, func(changed v1alpha1.Deployment) { controllerutil.RemoveFinalizer(changed, w.finalizer) })
	case w.deployment.GetDeletionTimestamp() == nil && !controllerutil.ContainsFinalizer(w.deployment, w.finalizer):
		var written v1alpha1.Deployment
		err := patch(ctx, w.client, w.deployment, func(changed v1alpha1.Deployment) {
			controllerutil.AddFinalizer(changed, w.finalizer)
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

// rollBack copies the spec of a set to the template, and removes the request for that, in one write. The change cause
// comes with it. It is a JSON patch, because a merge patch loses values that are null.
func (w deploymentWriter) rollBack(ctx context.Context, target v1alpha1.Set) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	annotations := withChangeCause(w.deployment.GetAnnotations(), target.GetAnnotations()[v1alpha1.AnnotationChangeCause])
	operations := []operation{
		// If it is another one by now, that is a conflict.
		{Op: "replace", Path: "/metadata/resourceVersion", Value: w.deployment.GetResourceVersion()},
		{Op: "replace", Path: "/spec/template/spec", Value: w.deployment.TemplateSpecOf(target)},
		{Op: "remove", Path: "/spec/rollbackTo"},
	}
	if len(annotations)+len(w.deployment.GetAnnotations()) > 0 {
		operations = append(operations, operation{Op: "add", Path: "/metadata/annotations", Value: annotations}) // without those that are gone
	}
	encoded, err := json.Marshal(operations)
	if err != nil {
		return fmt.Errorf("rolling back to set %s: %w", target.GetName(), err)
	}
	object := w.newDeployment()
	object.SetNamespace(w.deployment.GetNamespace())
	object.SetName(w.deployment.GetName())
	if err := w.client.Patch(ctx, object, client.RawPatch(apitypes.JSONPatchType, encoded)); err != nil {
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
	current := w.newDeployment()
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
	var owners []metav1.OwnerReference
	for _, owner := range set.GetOwnerReferences() {
		if owner.UID != w.deployment.GetUID() {
			owners = append(owners, owner)
		}
	}
	set.SetOwnerReferences(owners)
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
