// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/internal/revisions"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// family has all sets of one kind in a namespace, by name.
type family map[string]v1alpha1.Set

// relation returns what another set is to a set; empty if it is nothing.
//
//	other is previous of self, directly or by way of others      older
//	self is previous of other, directly or by way of others      newer
//	same label revisions-of, other has the lower revision        older
//	same label revisions-of, other has the higher revision       newer
//	anything else, or other is archived and has no objects       nothing
func (f family) relation(self, other v1alpha1.Set) reconciler.Relation {
	if revisions.IsOver(other) {
		return ""
	}
	forth, back := f.precedes(other.GetName(), self, map[string]bool{}), f.precedes(self.GetName(), other, map[string]bool{})
	switch {
	case forth && !back:
		return reconciler.RelationOlder
	case back && !forth:
		return reconciler.RelationNewer
	}
	series := self.GetLabels()[v1alpha1.LabelRevisionsOf]
	if series == "" || series != other.GetLabels()[v1alpha1.LabelRevisionsOf] {
		return ""
	}
	own, others := self.GetSetSpec().Revision, other.GetSetSpec().Revision
	switch {
	case others < own:
		return reconciler.RelationOlder
	case others > own:
		return reconciler.RelationNewer
	default:
		return ""
	}
}

// precedes reports whether a name is among the previous sets of a set, or of these. Each set is looked at once.
func (f family) precedes(name string, set v1alpha1.Set, seen map[string]bool) bool {
	for _, previous := range set.GetSetSpec().Previous {
		if previous.Name == name {
			return true
		}
		if next := f[previous.Name]; next != nil && !seen[previous.Name] {
			seen[previous.Name] = true
			if f.precedes(name, next, seen) {
				return true
			}
		}
	}
	return false
}

// siblings returns a function that returns the siblings of a set. It lists all sets of the kind in the namespace.
func siblings[T v1alpha1.Set](newList func() client.ObjectList) component.SiblingsFunc[T] {
	return func(ctx context.Context, reader client.Reader, self T) (map[apitypes.NamespacedName]reconciler.Relation, error) {
		sets, err := familyOf(ctx, reader, newList(), self)
		if err != nil {
			return nil, err
		}
		found := map[apitypes.NamespacedName]reconciler.Relation{}
		for name, other := range sets {
			if related := sets.relation(self, other); name != self.GetName() && related != "" {
				found[client.ObjectKeyFromObject(other)] = related
			}
		}
		return found, nil
	}
}

// olderFirst is a hook that holds up the deletion of a set while an older sibling is being deleted, or is about to be because their deployment is: an older
// one has what comes later in the order of the phases. The end of the older one wakes the set.
func olderFirst[T v1alpha1.Set](reader client.Reader, kind deploymentKind) component.HookFunc[T] {
	return func(ctx context.Context, _ client.Client, self T) error {
		sets, err := familyOf(ctx, reader, kind.newSets(), self)
		if err != nil {
			return err
		}
		ends, err := kind.ends(ctx, reader, self)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(sets)) {
			other := sets[name]
			if name == self.GetName() || sets.relation(self, other) != reconciler.RelationOlder {
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

// familyOf returns all sets of the kind in the namespace of a set.
func familyOf(ctx context.Context, reader client.Reader, list client.ObjectList, set v1alpha1.Set) (family, error) {
	found, err := setsIn(ctx, reader, list, set.GetNamespace())
	if err != nil {
		return nil, err
	}
	sets := family{}
	for _, other := range found {
		sets[other.GetName()] = other
	}
	return sets, nil
}

// setsIn returns all sets of the kind of a list in a namespace. They must not be changed.
func setsIn(ctx context.Context, reader client.Reader, list client.ObjectList, namespace string) ([]v1alpha1.Set, error) {
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
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
