// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// family has the sets of one kind in a namespace that are related to one of them.
type family struct {
	self   v1alpha1.Set
	byName map[string]v1alpha1.Set
	// older has the names of the previous sets of self, directly or by way of others; newer has those of the sets that
	// self is previous of.
	older, newer map[string]bool
}

// maxRelatives is the maximum number of sets that are older, or newer, by way of spec.previous. The nearest ones count.
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

// previousOf returns the names of the sets that a set names as previous. There may be no set.
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

// reach returns the names that self leads to, step by step.
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

// relation returns what another set is to self; empty if it is nothing.
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

// kinship is relation for a set that has objects.
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
		sets, err := relatives{reader: reader, cached: cached, newList: newList}.of(ctx, self)
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

// olderFirst is a hook that holds up the deletion of a set while an older sibling is being deleted, or is about to be
// because their deployment is: an older one has what comes later in the order of the phases. The end of the older one
// wakes the set.
func olderFirst[T v1alpha1.Set](reader client.Reader, kind deploymentKind) component.HookFunc[T] {
	return func(ctx context.Context, _ client.Client, self T) error {
		sets, err := relatives{reader: reader, cached: reader, newList: kind.newSets}.of(ctx, self)
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

// olderFirstDelay is how long to wait before looking again whether an older set is gone, if no event tells.
const olderFirstDelay = time.Minute

// indexPrevious is the index of sets in the cache by the names of their previous sets.
const indexPrevious = "spec.previous"

// relatives finds the relatives of sets.
type relatives struct {
	// reader lists all sets of a namespace; cached has the index.
	reader, cached client.Reader
	newList        func() client.ObjectList
}

// of returns the relatives of a set. Sets that name it directly are found even if the cache does not have them yet.
func (r relatives) of(ctx context.Context, set v1alpha1.Set) (family, error) {
	sets, err := setsIn(ctx, r.reader, r.newList(), set.GetNamespace())
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
		found, err := setsIn(ctx, r.cached, r.newList(), set.GetNamespace(), client.MatchingFields{indexPrevious: name})
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
