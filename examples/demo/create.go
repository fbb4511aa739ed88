// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// routeKind is the type that the chart defines.
var routeKind = schema.GroupVersionKind{Group: "parcel.example.io", Version: "v1", Kind: "DeliveryRoute"}

// create plays the first act: a component becomes ready, wave by wave, and its migration Job is purged.
func (s *stage) create(ctx context.Context) error {
	if err := s.client.Create(ctx, s.newComponent()); err != nil {
		return fmt.Errorf("creating the component: %w", err)
	}
	s.screen.Line("ParcelService %s/%s is created.", s.namespace, s.name)
	created := time.Now()

	shown, recordingRoutes := 0, false
	var service *v1alpha1.ParcelService
	err := s.await(ctx, "the component to become ready", func(waiting context.Context) (bool, string, error) {
		var err error
		if service, err = s.component(waiting); err != nil {
			return false, "", err
		}
		// The recording outlasts the wait, so it gets the outer context.
		if recordingRoutes, err = s.recordRoutes(ctx, recordingRoutes); err != nil {
			return false, "", err
		}
		if shown, err = s.showWaves(service, created, shown); err != nil {
			return false, "", err
		}
		// Events may arrive a little later than the status that follows from them.
		return isDone(service) && shown == len(orders(service)), saying(service), nil
	})
	if err != nil {
		return err
	}
	return s.checkCreation(ctx, service, created)
}

func (s *stage) newComponent() *v1alpha1.ParcelService {
	return &v1alpha1.ParcelService{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name},
		Spec: v1alpha1.ParcelServiceSpec{
			Region:   "north",
			Host:     "parcels.example.com",
			API:      v1alpha1.WorkloadSpec{Replicas: 2},
			Database: v1alpha1.DatabaseSpec{PasswordSecretRef: &component.SecretKeyReference{Name: "database"}},
			Routes: []v1alpha1.RouteSpec{
				{Name: "express", Stops: []string{"harbor", "airport"}},
				{Name: "island", Stops: []string{"harbor", "lighthouse"}},
				{Name: "suburbs", Stops: []string{"depot", "mill", "orchard"}},
			},
		},
	}
}

// recordRoutes records instances of the type that the chart defines, as soon as it is served.
func (s *stage) recordRoutes(ctx context.Context, recording bool) (bool, error) {
	if recording {
		return true, nil
	}
	err := s.record.watch(ctx, routeKind)
	if isGone(err) {
		return false, nil
	}
	return err == nil, err
}

// showWaves shows the waves that have become ready since the last call. The inventory lists the objects of a wave
// before they are created.
func (s *stage) showWaves(service *v1alpha1.ParcelService, created time.Time, shown int) (int, error) {
	events, err := s.record.after(0)
	if err != nil {
		return shown, err
	}
	expected := orders(service)
	waves := appliedWaves(events, s.isReady)
	for _, w := range waves[min(shown, len(waves)):] {
		if w.unfinished > 0 || w.objects < expected[w.order] || expected[w.order] == 0 {
			break
		}
		s.screen.Line("%s   first written at %6.3f s   all ready at %6.3f s", w,
			w.began.at.Sub(created).Seconds(), w.ended.at.Sub(created).Seconds())
		shown++
	}
	return shown, nil
}

// checkCreation checks the claims of the act.
func (s *stage) checkCreation(ctx context.Context, service *v1alpha1.ParcelService, created time.Time) error {
	s.objects = len(service.Status.Inventory)
	s.screen.Proof("Ready after %s, with %d objects.", round(time.Since(created)), s.objects)

	events, err := s.record.after(0)
	if err != nil {
		return err
	}
	waves := appliedWaves(events, s.isReady)
	if err := checkSequence(waves); err != nil {
		return err
	}
	if expected := len(orders(service)); len(waves) != expected {
		return fmt.Errorf("the inventory has %d waves, but %d were applied", expected, len(waves))
	}
	s.screen.Proof("Each of the %d waves began after all of the one before was ready.", len(waves))

	purged, err := s.checkInventory(ctx, service)
	if err != nil {
		return err
	}
	s.screen.Proof("%s has done its work and is gone; the inventory says %s.", purged, reconciler.PhaseCompleted)
	return nil
}

// checkInventory compares the inventory with what is in the cluster. It returns the name of the object that was purged.
func (s *stage) checkInventory(ctx context.Context, service *v1alpha1.ParcelService) (string, error) {
	var purged string
	for _, item := range service.Status.Inventory {
		_, err := s.get(ctx, item)
		switch {
		case item.Phase == reconciler.PhaseCompleted && apierrors.IsNotFound(err):
			if purged != "" {
				return "", fmt.Errorf("both %s and %s are completed", purged, types.IDOf(item))
			}
			purged = item.Kind + " " + types.NameKeyToString(item)
		case item.Phase == reconciler.PhaseCompleted && err == nil:
			return "", fmt.Errorf("%s is still there, although the inventory says it is completed", types.IDOf(item))
		case err != nil:
			return "", fmt.Errorf("reading %s, which is %s in the inventory: %w", types.IDOf(item), item.Phase, err)
		case item.Phase != reconciler.PhaseReady:
			return "", fmt.Errorf("the component is ready, but %s is %s", types.IDOf(item), item.Phase)
		}
	}
	if purged == "" {
		return "", fmt.Errorf("no object of the inventory is %s", reconciler.PhaseCompleted)
	}
	return purged, nil
}

// get reads the object of an inventory item.
func (s *stage) get(ctx context.Context, item *reconciler.InventoryItem) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(item.GroupVersionKind())
	err := s.client.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, object)
	return object, err
}

// orders returns the number of dependents by apply order.
func orders(service *v1alpha1.ParcelService) map[int]int {
	count := map[int]int{}
	for _, item := range service.Status.Inventory {
		count[item.ApplyOrder]++
	}
	return count
}

// saying returns the state of the component and its message.
func saying(service *v1alpha1.ParcelService) string {
	state, _, message := service.Status.GetState()
	if state == "" {
		return "nothing so far"
	}
	return fmt.Sprintf("%s: %s", state, message)
}

// isDone reports whether the component is ready in its current generation.
func isDone(service *v1alpha1.ParcelService) bool {
	return service.Status.ObservedGeneration == service.Generation && service.Status.State == component.StateReady
}
