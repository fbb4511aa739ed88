// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

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
func (f *ObjectSets) RollBack(ctx context.Context, c cluster.Client, revision int64) (name string, asked bool, err error) {
	target, err := f.rollbackTarget(revision)
	if err != nil {
		return "", false, err
	}
	if f.Deployment.GetDeploymentSpec().RollbackTo == nil && f.Deployment.Makes(target) {
		return target.GetName(), false, nil
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{"rollbackTo":{"revision":%d}}}`, f.Deployment.GetUID(), revision)
	raw := f.Target.kind.unstructured()
	raw.SetNamespace(f.Target.Namespace)
	raw.SetName(f.Target.Name)
	if err := c.Patch(ctx, raw, client.RawPatch(apitypes.MergePatchType, []byte(patch)), client.FieldOwner("clm")); err != nil {
		return "", false, fmt.Errorf("rolling back %s: %w", f.Target, err)
	}
	return target.GetName(), true, nil
}

// rollbackTarget returns the set to roll back to.
func (f *ObjectSets) rollbackTarget(revision int64) (v1alpha1.Set, error) {
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

// AwaitRollBack waits until a rollback is complete, and calls a function with what the deployment says, whenever that
// changes. The error says why it has failed, or is the cause of the context.
func (f *ObjectSets) AwaitRollBack(ctx context.Context, c cluster.Client, progress func(said string)) error {
	objects, err := dynamic.NewForConfigAndClient(c.Config(), c.HttpClient())
	if err != nil {
		return fmt.Errorf("setting up a watch: %w", err)
	}
	resource := objects.Resource(v1alpha1.GroupVersion.WithResource(f.Target.kind.plural)).Namespace(f.Target.Namespace)
	selection := apiserver.ListSelection{Fields: fields.OneTermEqualSelector(metav1.ObjectNameField, f.Target.Name).String()}
	last, errOver := "", errors.New("over")
	err = apiserver.Watch(ctx, apiserver.ListWatch(resource, selection), func(change apiserver.Change) error {
		if change.Deleted || len(change.Objects) == 0 {
			return fmt.Errorf("%s was deleted", f.Target)
		}
		raw, ok := change.Objects[0].(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("unexpected object %T", change.Objects[0])
		}
		deployment, err := typed(raw, f.Target.kind.newDeployment())
		if err != nil {
			return err
		}
		said, done, err := rollBackProgress(deployment)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", f.Target, err)
		case said == "" && last == "":
			said = "Waiting: for the operator to act on spec.rollbackTo"
		}
		if said != "" && said != last {
			last = said
			progress(said)
		}
		if done {
			return errOver
		}
		return nil
	})
	switch {
	case errors.Is(err, errOver):
		return nil
	case err == nil:
		return context.Cause(ctx)
	default:
		return err
	}
}

// rollBackProgress returns what a deployment says about a rollback, and whether it is complete; nothing if the operator
// has not seen it yet. The error says why it does not go on.
func rollBackProgress(deployment v1alpha1.Deployment) (said string, done bool, err error) {
	status := deployment.GetDeploymentStatus()
	condition := meta.FindStatusCondition(status.Conditions, v1alpha1.DeploymentProgressing)
	isRequested := deployment.GetDeploymentSpec().RollbackTo != nil
	if condition == nil || status.ObservedGeneration != deployment.GetGeneration() || isRequested && condition.Reason != v1alpha1.ReasonRollbackRefused {
		return "", false, nil
	}
	said = condition.Reason + ": " + condition.Message
	if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.DeploymentStalled) {
		return "", false, errors.New(said)
	}
	return said, meta.IsStatusConditionTrue(status.Conditions, v1alpha1.DeploymentReady), nil
}
