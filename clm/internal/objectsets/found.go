// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectsets

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/objectset"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/status"
)

// Found is what a target is in the cluster.
type Found struct {
	Target Target
	// Deployment is nil if the target is a set.
	Deployment v1alpha1.Deployment
	// Sets are those of the deployment, the newest first, or the set.
	Sets []v1alpha1.Set
}

// Find reads a target, and the sets of a deployment.
func Find(ctx context.Context, reader client.Reader, target Target) (*Found, error) {
	raw := target.kind.unstructured()
	if err := reader.Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: target.Name}, raw); err != nil {
		return nil, explain(err, target)
	}
	found := &Found{Target: target}
	if !target.IsDeployment() {
		set, err := typed(raw, target.kind.newSet())
		found.Sets = []v1alpha1.Set{set}
		return found, err
	}
	var err error
	if found.Deployment, err = typed(raw, target.kind.newDeployment()); err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(target.kind.sets + "List"))
	if err := reader.List(ctx, list, client.InNamespace(target.Namespace), client.MatchingLabels{v1alpha1.LabelRevisionsOf: target.Name}); err != nil {
		return nil, fmt.Errorf("listing the sets of %s: %w", target, err)
	}
	for i := range list.Items {
		set, err := typed(&list.Items[i], kindOf(target.kind.sets).newSet())
		if err != nil {
			return nil, err
		}
		found.Sets = append(found.Sets, set)
	}
	found.Sets = objectset.History(found.Deployment, found.Sets)
	return found, nil
}

// explain says what is missing.
func explain(err error, target Target) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s does not exist", target)
	case cluster.IsNoMatch(err):
		return fmt.Errorf("the cluster does not have the kind %s: its CustomResourceDefinition is not installed", target.kind.name)
	default:
		return fmt.Errorf("reading %s: %w", target, err)
	}
}

func (k kind) unstructured() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(k.name))
	return object
}

// typed converts an object.
func typed[T client.Object](raw *unstructured.Unstructured, into T) (T, error) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, into); err != nil {
		return into, fmt.Errorf("reading %s %s: %w", raw.GetKind(), raw.GetName(), err)
	}
	return into, nil
}

// Active are the sets that are not archived.
func (f *Found) Active() []v1alpha1.Set {
	return slices.DeleteFunc(slices.Clone(f.Sets), func(set v1alpha1.Set) bool {
		return f.Deployment != nil && set.GetSetSpec().GetPresence() == component.PresenceArchived
	})
}

// Inspection returns the options with which package live looks at the objects of a set.
func (f *Found) Inspection(c cluster.Client, set v1alpha1.Set) (live.Options, error) {
	items, err := itemsOf(c, set)
	if err != nil {
		return live.Options{}, err
	}
	name := f.reconcilerName()
	others := status.NewAnalyzer(name, status.Options{})
	all := judges.New(name, others)
	if probes, err := set.GetSetSpec().GetJudge(); err == nil {
		all.Assign("", newJudge(probes, others, items))
	} // Otherwise, the status of the set says what is wrong with its probes.
	return live.Options{Client: c, Items: items, Judges: all}, nil
}

// reconcilerName is the prefix of the marks on objects, and the field manager.
func (f *Found) reconcilerName() string {
	if f.Target.kind.namespaced {
		return objectset.ObjectSetReconcilerName
	}
	return objectset.ClusterObjectSetReconcilerName
}

// manifestOf returns an object that a set declares, with its namespace.
func manifestOf(c cluster.Client, set v1alpha1.Set, declared v1alpha1.Object) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(declared.Object.Raw); err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	dropServerFields(object)
	if namespaced, err := c.IsObjectNamespaced(object); err == nil && namespaced && object.GetNamespace() == "" {
		object.SetNamespace(set.GetNamespace())
	}
	return object, nil
}

// itemsOf returns the objects that a set declares.
func itemsOf(c cluster.Client, set v1alpha1.Set) ([]*inventory.Item, error) {
	var items []*inventory.Item
	for i, phase := range set.GetSetSpec().Phases {
		for _, declared := range phase.Objects {
			object, err := manifestOf(c, set, declared)
			if err != nil {
				return nil, fmt.Errorf("phase %q: %w", phase.Name, err)
			}
			kind := object.GroupVersionKind()
			item := &inventory.Item{ApplyOrder: i, Phase: inventory.PhaseReady}
			item.Group, item.Version, item.Kind = kind.Group, kind.Version, kind.Kind
			item.Namespace, item.Name = object.GetNamespace(), object.GetName()
			items = append(items, item)
		}
	}
	return items, nil
}
