// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectsets

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/objectset"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// RollBack asks the operator to roll a deployment back to a revision; 0 is the latest one before the current one that
// has succeeded. It returns the name of that set, and whether the operator has something to do: not if the template is
// that of the set already. It refuses what the operator would refuse or leave for later.
func RollBack(ctx context.Context, c cluster.Client, found *Found, revision int64) (name string, asked bool, err error) {
	target, err := found.rollbackTarget(revision)
	if err != nil {
		return "", false, err
	}
	if found.Deployment.GetDeploymentSpec().RollbackTo == nil && found.Deployment.Makes(target) {
		return target.GetName(), false, nil
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{"rollbackTo":{"revision":%d}}}`, found.Deployment.GetUID(), revision)
	raw := found.Target.kind.unstructured()
	raw.SetNamespace(found.Target.Namespace)
	raw.SetName(found.Target.Name)
	if err := c.Patch(ctx, raw, client.RawPatch(apitypes.MergePatchType, []byte(patch)), client.FieldOwner("clm")); err != nil {
		return "", false, fmt.Errorf("rolling back %s: %w", found.Target, err)
	}
	return target.GetName(), true, nil
}

// rollbackTarget returns the set to roll back to.
func (f *Found) rollbackTarget(revision int64) (v1alpha1.Set, error) {
	if f.Deployment == nil {
		return nil, fmt.Errorf("%s is a set; only deployments can be rolled back", f.Target)
	}
	if f.Deployment.GetDeletionTimestamp() != nil {
		return nil, &releases.RefusedError{Reason: fmt.Sprintf("%s is being deleted", f.Target)}
	}
	if f.Deployment.GetDeploymentSpec().Paused {
		return nil, &releases.RefusedError{Reason: fmt.Sprintf("%s is paused; set spec.paused to false first", f.Target)}
	}
	set, err := objectset.RollbackTarget(f.Deployment, f.Sets, revision)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Target, err)
	}
	return set, nil
}

// errOver ends a watch.
var errOver = errors.New("over")

// wait waits for the end of a rollback.
type wait struct {
	target   Target
	progress func(reason, message string)
	said     string
}

// Await waits until a rollback is complete, and calls a function with what the deployment says, whenever that changes.
// The error says why it has failed, or is the cause of the context.
func Await(ctx context.Context, c cluster.Client, target Target, progress func(reason, message string)) error {
	objects, err := dynamic.NewForConfigAndClient(c.Config(), c.HttpClient())
	if err != nil {
		return fmt.Errorf("setting up a watch: %w", err)
	}
	w := wait{target: target, progress: progress}
	resource := objects.Resource(v1alpha1.GroupVersion.WithResource(target.kind.plural)).Namespace(target.Namespace)
	selection := apiserver.ListSelection{Fields: fields.OneTermEqualSelector(metav1.ObjectNameField, target.Name).String()}
	err = apiserver.Watch(ctx, apiserver.ListWatch(resource, selection), w.seen)
	switch {
	case errors.Is(err, errOver):
		return nil
	case err == nil:
		return context.Cause(ctx)
	default:
		return err
	}
}

func (w *wait) seen(change apiserver.Change) error {
	if change.Deleted || len(change.Objects) == 0 {
		return fmt.Errorf("%s was deleted", w.target)
	}
	raw, ok := change.Objects[0].(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("unexpected object %T", change.Objects[0])
	}
	deployment, err := typed(raw, w.target.kind.newDeployment())
	if err != nil {
		return err
	}
	return w.look(deployment)
}

// look returns errOver if the rollback is complete, and another error if it does not go on.
func (w *wait) look(deployment v1alpha1.Deployment) error {
	status := deployment.GetDeploymentStatus()
	condition := meta.FindStatusCondition(status.Conditions, v1alpha1.DeploymentProgressing)
	isRequested := deployment.GetDeploymentSpec().RollbackTo != nil
	switch {
	case condition == nil || status.ObservedGeneration != deployment.GetGeneration() || isRequested && condition.Reason != v1alpha1.ReasonRollbackRefused:
		if w.said == "" {
			w.say("Waiting", "for the operator to act on spec.rollbackTo")
		}
		return nil
	case meta.IsStatusConditionTrue(status.Conditions, v1alpha1.DeploymentStalled):
		return fmt.Errorf("%s: %s: %s", w.target, condition.Reason, condition.Message)
	}
	w.say(condition.Reason, condition.Message)
	if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.DeploymentReady) {
		return errOver
	}
	return nil
}

// say reports progress, unless it was the last thing said.
func (w *wait) say(reason, message string) {
	if text := reason + message; text != w.said {
		w.said = text
		w.progress(reason, message)
	}
}
