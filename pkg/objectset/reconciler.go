// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Names of the reconcilers: prefixes of the labels and annotations on objects, finalizers, and field managers.
const (
	ObjectSetReconcilerName        = "objectset.core.component-operator.dev"
	ClusterObjectSetReconcilerName = "clusterobjectset.core.component-operator.dev"
)

// Names of the controllers of deployments: finalizers and field managers.
const (
	ObjectDeploymentControllerName        = "objectdeployment.core.component-operator.dev"
	ClusterObjectDeploymentControllerName = "clusterobjectdeployment.core.component-operator.dev"
)

// Options configure the reconcilers. The zero value works.
type Options struct {
	// MaxConcurrentReconciles is the number of sets, or deployments, of one kind that are reconciled at the same time.
	// Defaults to 5.
	MaxConcurrentReconciles int
	// StateNamespace has the inventories of ClusterObjectSets that are too large for the status. Those of ObjectSets
	// are in their namespaces. Defaults to none: a ClusterObjectSet with that many objects is refused.
	StateNamespace string
	// SkipClusterObjectSets keeps ClusterObjectSets and ClusterObjectDeployments from being reconciled, for operators
	// without permissions beyond namespaces. Defaults to false.
	SkipClusterObjectSets bool
	// Name distinguishes several operators in one cluster: it becomes the prefix of the names of the reconcilers.
	// Defaults to none.
	Name string
}

// SetupWithManager adds reconcilers for ObjectSets and ClusterObjectSets, and for deployments of them, to a manager,
// whose scheme must have the kinds of package v1alpha1.
func SetupWithManager(mgr ctrl.Manager, options Options) error {
	if options.MaxConcurrentReconciles == 0 {
		options.MaxConcurrentReconciles = 5
	}
	sets := deploymentKind{
		name: "ObjectDeployment", newDeployment: func() v1alpha1.Deployment { return &v1alpha1.ObjectDeployment{} },
		newSet: func() v1alpha1.Set { return &v1alpha1.ObjectSet{} }, newSets: func() client.ObjectList { return &v1alpha1.ObjectSetList{} },
	}
	err := errors.Join(
		setup[*v1alpha1.ObjectSet](mgr, options.named(ObjectSetReconcilerName), options, sets),
		setupDeployments(mgr, options.named(ObjectDeploymentControllerName), sets, options),
	)
	if options.SkipClusterObjectSets {
		return err
	}
	clusterSets := deploymentKind{
		name: "ClusterObjectDeployment", newDeployment: func() v1alpha1.Deployment { return &v1alpha1.ClusterObjectDeployment{} },
		newSet: func() v1alpha1.Set { return &v1alpha1.ClusterObjectSet{} }, newSets: func() client.ObjectList { return &v1alpha1.ClusterObjectSetList{} },
	}
	return errors.Join(err,
		setup[*v1alpha1.ClusterObjectSet](mgr, options.named(ClusterObjectSetReconcilerName), options, clusterSets),
		setupDeployments(mgr, options.named(ClusterObjectDeploymentControllerName), clusterSets, options),
	)
}

func (o Options) named(name string) string {
	if o.Name == "" {
		return name
	}
	return o.Name + "." + name
}

// setup adds the reconciler of one kind.
func setup[T v1alpha1.Set](mgr ctrl.Manager, name string, options Options, kind deploymentKind) error {
	r := component.NewReconciler[T](name, phases{}, component.ReconcilerOptions{
		DeleteOrder: new(reconciler.DeleteOrderReversed), AwaitTypes: true, MaxConcurrentReconciles: options.MaxConcurrentReconciles, StateNamespace: options.StateNamespace,
	})
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), kind.newSet(), indexPrevious, previousOf); err != nil {
		return fmt.Errorf("indexing sets: %w", err)
	}
	r.WithSiblings(siblings[T](mgr.GetClient(), kind.newSets)).WithPreDeleteHook(olderFirst[T](mgr.GetClient(), kind))
	r.WithStatusHook(func(set T, conclusion component.Conclusion) (time.Duration, error) {
		return report(set, conclusion), nil
	})
	r.WithWaveNames(func(set T, order int) string { return phaseOf(set, order) })
	if err := r.SetupWithManager(mgr); err != nil {
		return err
	}
	return mgr.Add(waker[T]{cache: mgr.GetCache(), newList: kind.newSets, wake: r.Trigger, log: mgr.GetLogger().WithValues("reconciler", name)})
}

// phaseOf names the phase of an apply order, or of a delete order, which is its negative.
func phaseOf(set v1alpha1.Set, order int) string {
	phases := set.GetSetSpec().Phases
	if order < 0 {
		order = -order
	}
	if order >= len(phases) {
		return ""
	}
	return fmt.Sprintf("phase %q", phases[order].Name)
}
