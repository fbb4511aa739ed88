// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// filter lets events about components through that may matter: everything but changes of status and of metadata other than
// labels, annotations and finalizers, and except for the version that a pass waits for. Components of which other replicas are
// in charge do not matter.
func (w *worker) filter() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			w.memories.saw(e.Object)
			return w.isOurs(e.Object)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			w.memories.unsee(e.Object)
			return w.isOurs(e.Object)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			if e.ObjectOld == nil || e.ObjectNew == nil {
				return true
			}
			w.memories.saw(e.ObjectNew)
			if !w.isOurs(e.ObjectNew) {
				return false
			}
			return concerns(e.ObjectOld, e.ObjectNew) || w.memories.awaits(client.ObjectKeyFromObject(e.ObjectNew), e.ObjectNew.GetResourceVersion())
		},
	}
}

func concerns(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers())
}
