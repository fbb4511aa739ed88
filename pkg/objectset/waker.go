// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/go-logr/logr"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// waker has sets reconciled when a sibling appears, goes, or changes in a way that concerns them.
type waker[T v1alpha1.Set] struct {
	cache   cache.Cache
	newList func() client.ObjectList
	wake    func(namespace, name string) error
	log     logr.Logger
}

// Start watches sets until the context ends.
func (w waker[T]) Start(ctx context.Context) error {
	set, ok := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if !ok {
		return fmt.Errorf("unexpected type %s", reflect.TypeFor[T]())
	}
	informer, err := w.cache.GetInformer(ctx, set)
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
func (w waker[T]) changed(ctx context.Context, object any) {
	set, ok := object.(v1alpha1.Set)
	if !ok {
		return
	}
	sets, err := relatives{reader: w.cache, cached: w.cache, newList: w.newList}.of(ctx, set)
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
