// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	apitypes "k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
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
	// StateNamespace is the namespace of inventories of ClusterObjectSets that are too large for the status.
	// Inventories of ObjectSets are in the namespaces of the sets. Defaults to none: a ClusterObjectSet with that many
	// objects is refused.
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
	return mgr.Add(waker{cache: mgr.GetCache(), kind: kind, wake: r.Trigger, log: mgr.GetLogger().WithValues("reconciler", name)})
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

// family contains all sets of a kind in a namespace, and the relatives of one of them.
type family struct {
	self   v1alpha1.Set
	byName map[string]v1alpha1.Set
	// older has the names of the previous sets of self, directly or transitively; newer has the names of the sets that
	// have self as previous one, directly or transitively.
	older, newer map[string]bool
}

// maxRelatives is the maximum number of older sets, and of newer sets, by spec.previous. The nearest ones count.
const maxRelatives = 64

// newFamily finds the relatives of a set among all sets of its kind and namespace. The function namedBy returns the
// names of the sets that name one as previous.
func newFamily(self v1alpha1.Set, sets []v1alpha1.Set, namedBy func(name string) ([]string, error)) (family, error) {
	f := family{self: self, byName: make(map[string]v1alpha1.Set, len(sets)+1)}
	for _, set := range sets {
		f.byName[set.GetName()] = set
	}
	f.byName[self.GetName()] = self
	var older, newer error
	f.older, older = f.reach(func(name string) ([]string, error) { return previousOf(f.byName[name]), nil })
	f.newer, newer = f.reach(namedBy)
	return f, errors.Join(older, newer)
}

// previousOf returns the names of the sets that a set names as previous. These sets need not exist.
func previousOf(set client.Object) []string {
	found, ok := set.(v1alpha1.Set)
	if !ok {
		return nil
	}
	names := make([]string, len(found.GetSetSpec().Previous))
	for i, previous := range found.GetSetSpec().Previous {
		names[i] = previous.Name
	}
	return names
}

// reach returns the names that are reachable from self by steps.
func (f family) reach(step func(name string) ([]string, error)) (map[string]bool, error) {
	reached := map[string]bool{}
	for pending := []string{f.self.GetName()}; len(pending) > 0 && len(reached) < maxRelatives; pending = pending[1:] {
		names, err := step(pending[0])
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !reached[name] && len(reached) < maxRelatives {
				reached[name] = true
				pending = append(pending, name)
			}
		}
	}
	return reached, nil
}

// relation returns the relation of another set to self; empty if there is none.
//
//	other is previous of self, directly or by way of others      older
//	self is previous of other, directly or by way of others      newer
//	same label revisions-of, other has the lower revision        older
//	same label revisions-of, other has the higher revision       newer
//	anything else, or other is archived and has no objects       nothing
func (f family) relation(other v1alpha1.Set) reconciler.Relation {
	if isOver(other) {
		return ""
	}
	return f.kinship(other)
}

// kinship is relation for a set that is not over.
func (f family) kinship(other v1alpha1.Set) reconciler.Relation {
	forth, back := f.older[other.GetName()], f.newer[other.GetName()]
	switch {
	case other.GetName() == f.self.GetName():
		return ""
	case forth && !back:
		return reconciler.RelationOlder
	case back && !forth:
		return reconciler.RelationNewer
	}
	series := f.self.GetLabels()[v1alpha1.LabelRevisionsOf]
	if series == "" || series != other.GetLabels()[v1alpha1.LabelRevisionsOf] {
		return ""
	}
	own, others := f.self.GetSetSpec().Revision, other.GetSetSpec().Revision
	switch {
	case others < own:
		return reconciler.RelationOlder
	case others > own:
		return reconciler.RelationNewer
	default:
		return ""
	}
}

// siblings returns a function that returns the siblings of a set. It lists all sets of the kind in the namespace.
func siblings[T v1alpha1.Set](cached client.Reader, newList func() client.ObjectList) component.SiblingsFunc[T] {
	return func(ctx context.Context, reader client.Reader, self T) (map[apitypes.NamespacedName]reconciler.Relation, error) {
		sets, err := familyOf(ctx, self, reader, cached, newList)
		if err != nil {
			return nil, err
		}
		found := map[apitypes.NamespacedName]reconciler.Relation{}
		for _, other := range sets.byName {
			if related := sets.relation(other); related != "" {
				found[client.ObjectKeyFromObject(other)] = related
			}
		}
		return found, nil
	}
}

// olderFirst returns a hook that delays the deletion of a set until older siblings are deleted, if these are being
// deleted, too, or will be deleted with their deployment: an older set still has the objects of later phases. The end
// of the older set wakes this one.
func olderFirst[T v1alpha1.Set](reader client.Reader, kind deploymentKind) component.HookFunc[T] {
	return func(ctx context.Context, _ client.Client, self T) error {
		sets, err := familyOf(ctx, self, reader, reader, kind.newSets)
		if err != nil {
			return err
		}
		ends, err := kind.ends(ctx, reader, self)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(sets.byName)) {
			other := sets.byName[name]
			if sets.relation(other) != reconciler.RelationOlder {
				continue
			}
			if other.GetDeletionTimestamp() != nil || ends(other) {
				return types.NewRetriableError(fmt.Errorf("set %s, which is older, is deleted first", name), new(olderFirstDelay))
			}
		}
		return nil
	}
}

// olderFirstDelay is the delay before checking again for older sets, if no event reports their end.
const olderFirstDelay = time.Minute

// indexPrevious is the index of sets in the cache by the names of their previous sets.
const indexPrevious = "spec.previous"

// familyOf returns the relatives of a set. The reader lists all sets of a namespace; cached has the index. Sets that
// name the set directly are found even if the cache does not have them yet.
func familyOf(ctx context.Context, set v1alpha1.Set, reader, cached client.Reader, newList func() client.ObjectList) (family, error) {
	sets, err := setsIn(ctx, reader, newList(), set.GetNamespace())
	if err != nil {
		return family{}, err
	}
	return newFamily(set, sets, func(name string) ([]string, error) {
		var names []string
		if name == set.GetName() {
			for _, other := range sets {
				if slices.Contains(other.GetSetSpec().Previous, v1alpha1.PreviousReference{Name: name}) {
					names = append(names, other.GetName())
				}
			}
		}
		found, err := setsIn(ctx, cached, newList(), set.GetNamespace(), client.MatchingFields{indexPrevious: name})
		for _, other := range found {
			names = append(names, other.GetName())
		}
		return names, err
	})
}

// setsIn returns all sets of the kind of a list in a namespace. They must not be changed.
func setsIn(ctx context.Context, reader client.Reader, list client.ObjectList, namespace string, options ...client.ListOption) ([]v1alpha1.Set, error) {
	if err := reader.List(ctx, list, append(options, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("listing sets: %w", err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("listing sets: %w", err)
	}
	sets := make([]v1alpha1.Set, 0, len(items))
	for _, item := range items {
		if set, ok := item.(v1alpha1.Set); ok {
			sets = append(sets, set)
		}
	}
	return sets, nil
}

// waker triggers sets when a sibling appears, disappears, or changes in a way that concerns them.
type waker struct {
	cache cache.Cache
	kind  deploymentKind
	wake  func(namespace, name string) error
	log   logr.Logger
}

// Start watches sets until the context ends.
func (w waker) Start(ctx context.Context) error {
	informer, err := w.cache.GetInformer(ctx, w.kind.newSet())
	if err != nil {
		return fmt.Errorf("watching sets: %w", err)
	}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { w.changed(ctx, object) },
		UpdateFunc: func(before, after any) {
			old, wasSet := before.(v1alpha1.Set)
			now, isSet := after.(v1alpha1.Set)
			if !wasSet || !isSet {
				return
			}
			if concerns(old, now) {
				w.changed(ctx, now)
			}
			if isRelabelled(old, now) {
				w.changed(ctx, old) // its former siblings
			}
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			w.changed(ctx, object)
		},
	})
	if err != nil {
		return fmt.Errorf("watching sets: %w", err)
	}
	<-ctx.Done()
	if err := informer.RemoveEventHandler(handler); err != nil {
		return fmt.Errorf("ending the watch of sets: %w", err)
	}
	return nil
}

// concerns reports whether a change of a set matters to its siblings.
func concerns(before, after v1alpha1.Set) bool {
	for _, name := range []component.ConditionType{v1alpha1.ConditionTypeAvailable, v1alpha1.ConditionTypeArchived} {
		a, _ := before.GetStatus().GetCondition(name)
		b, _ := after.GetStatus().GetCondition(name)
		if a.Status != b.Status {
			return true
		}
	}
	return before.GetGeneration() != after.GetGeneration() || isRelabelled(before, after) || !slices.Equal(before.GetSetStatus().Phases, after.GetSetStatus().Phases)
}

func isRelabelled(before, after v1alpha1.Set) bool {
	return !maps.Equal(before.GetLabels(), after.GetLabels())
}

// changed wakes the siblings of a set.
func (w waker) changed(ctx context.Context, object any) {
	set, ok := object.(v1alpha1.Set)
	if !ok {
		return
	}
	sets, err := familyOf(ctx, set, w.cache, w.cache, w.kind.newSets)
	if err != nil {
		w.log.Error(err, "siblings of a set cannot be found", "namespace", set.GetNamespace(), "name", set.GetName())
		return
	}
	for name, other := range sets.byName {
		if sets.kinship(other) == "" || isOver(set) && isOver(other) {
			continue
		}
		if err := w.wake(other.GetNamespace(), name); err != nil {
			w.log.Error(err, "a set cannot be woken", "namespace", other.GetNamespace(), "name", name)
		}
	}
}

// CRDs contains the definitions of ObjectSets, ClusterObjectSets, ObjectDeployments and ClusterObjectDeployments, in
// crds/*.yaml.
//
//go:embed crds/*.yaml
var CRDs embed.FS
