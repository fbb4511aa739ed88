// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// relation returns what another set, in the same namespace, is to a set; empty if it is nothing.
//
//	self names other in previous                                older
//	other names self in previous                                newer
//	same label revisions-of, other has the lower revision       older
//	same label revisions-of, other has the higher revision      newer
//	anything else, or other is archived and has no objects      nothing
func relation(self, other v1alpha1.Set) reconciler.Relation {
	if isOver(other) {
		return ""
	}
	switch {
	case names(self, other):
		return reconciler.RelationOlder
	case names(other, self):
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

// names reports whether a set names another one as previous. If both name each other, neither counts.
func names(set, other v1alpha1.Set) bool {
	return isPrevious(set, other) && !isPrevious(other, set)
}

func isPrevious(set, other v1alpha1.Set) bool {
	return slices.Contains(set.GetSetSpec().Previous, v1alpha1.PreviousReference{Name: other.GetName()})
}

// isOver reports whether a set is archived, and has no objects any more.
func isOver(set v1alpha1.Set) bool {
	condition, ok := set.GetStatus().GetCondition(v1alpha1.ConditionTypeArchived)
	return ok && condition.Status == component.ConditionTrue && condition.ObservedGeneration == set.GetGeneration()
}

// siblings returns a function that returns the siblings of a set. It lists all sets of the kind in the namespace.
func siblings[T v1alpha1.Set](newList func() client.ObjectList) component.SiblingsFunc[T] {
	return func(ctx context.Context, reader client.Reader, self T) (map[apitypes.NamespacedName]reconciler.Relation, error) {
		found := map[apitypes.NamespacedName]reconciler.Relation{}
		err := others(ctx, reader, newList(), self, func(other v1alpha1.Set) {
			if related := relation(self, other); related != "" {
				found[client.ObjectKeyFromObject(other)] = related
			}
		})
		return found, err
	}
}

// others calls a function for each other set of the kind in the namespace of a set.
func others(ctx context.Context, reader client.Reader, list client.ObjectList, self v1alpha1.Set, visit func(other v1alpha1.Set)) error {
	if err := reader.List(ctx, list, client.InNamespace(self.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing sets: %w", err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("listing sets: %w", err)
	}
	for _, item := range items {
		if other, ok := item.(v1alpha1.Set); ok && other.GetName() != self.GetName() {
			visit(other)
		}
	}
	return nil
}
