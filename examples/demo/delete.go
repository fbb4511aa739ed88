// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/component"
)

// delete plays the fourth act: the component is not deleted while there is a foreign instance of the type that it
// defines. When that instance is gone, the component and all its dependents are deleted.
func (s *stage) delete(ctx context.Context) error {
	foreign, err := s.createForeign(ctx)
	if err != nil {
		return err
	}
	if err := s.refuse(ctx, foreign); err != nil {
		return err
	}
	began := time.Now()
	if err := s.client.Delete(ctx, foreign); err != nil {
		return fmt.Errorf("deleting %s: %w", nameOf(foreign), err)
	}
	s.screen.Line("The user deletes the %s.", routeKind.Kind)
	err = s.await(ctx, "the component to be deleted", func(ctx context.Context) (bool, string, error) {
		service, err := s.component(ctx)
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, saying(service), err
	})
	if err != nil {
		return err
	}
	s.screen.Proof("The component is deleted %s after that.", round(time.Since(began)))
	return s.checkDeletion(ctx, foreign)
}

// createForeign creates an instance of the chart's type that does not belong to the component.
func (s *stage) createForeign(ctx context.Context) (*unstructured.Unstructured, error) {
	route := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"service": s.name, "stops": []any{"bakery", "school"}},
	}}
	route.SetGroupVersionKind(routeKind)
	route.SetNamespace(s.namespace)
	route.SetName("bread-run")
	if err := s.client.Create(ctx, route, foreignManager); err != nil {
		return nil, fmt.Errorf("creating a foreign instance: %w", err)
	}
	s.screen.Line("A user creates %s.", nameOf(route))
	return route, nil
}

// refuse deletes the component, and checks that nothing is deleted and that a message names the foreign instance.
func (s *stage) refuse(ctx context.Context, foreign *unstructured.Unstructured) error {
	service, err := s.component(ctx)
	if err != nil {
		return fmt.Errorf("reading the component: %w", err)
	}
	before, err := s.dependents(ctx, service)
	if err != nil {
		return err
	}
	if err := s.client.Delete(ctx, service); err != nil {
		return fmt.Errorf("deleting the component: %w", err)
	}
	s.screen.Line("A user deletes the component.")

	var message string
	err = s.await(ctx, "the deletion to be refused", func(ctx context.Context) (bool, string, error) {
		if service, err = s.component(ctx); err != nil {
			return false, "", err
		}
		var reason string
		_, reason, message = service.Status.GetState()
		return reason == component.ReadyConditionReasonDeletionBlocked, saying(service), nil
	})
	if err != nil {
		return err
	}
	if !strings.Contains(message, foreign.GetName()) {
		return fmt.Errorf("the deletion is blocked, but the message does not name %s: %s", nameOf(foreign), message)
	}
	after, err := s.dependents(ctx, service)
	if err != nil {
		return err
	}
	for name, object := range after {
		if object.GetDeletionTimestamp() != nil || object.GetUID() != before[name].GetUID() {
			return fmt.Errorf("the deletion is blocked, but %s is touched", name)
		}
	}
	s.screen.Proof("Refused, with all %d objects in place: %s", len(after), message)
	return nil
}

// checkDeletion checks that the waves were deleted in order, and that nothing is left.
func (s *stage) checkDeletion(ctx context.Context, foreign *unstructured.Unstructured) error {
	revision, err := strconv.ParseInt(foreign.GetResourceVersion(), 10, 64)
	if err != nil {
		return fmt.Errorf("reading the revision of %s: %w", nameOf(foreign), err)
	}
	expected := s.objects - 1 // the Job was purged in the first act
	var waves []wave
	// Everything is deleted by now, but the last events may not have arrived yet.
	err = s.await(ctx, "the last event of the deletion", func(context.Context) (bool, string, error) {
		events, err := s.record.after(revision)
		waves = deletedWaves(events)
		gone := 0
		for _, w := range waves {
			gone += w.objects - w.unfinished
		}
		return gone == expected, fmt.Sprintf("%d of %d objects are gone", gone, expected), err
	})
	if err != nil {
		return err
	}
	if err := checkSequence(waves); err != nil {
		return err
	}
	for _, w := range waves {
		s.screen.Line("%s   gone within %s", w, round(w.ended.at.Sub(w.began.at)))
	}
	s.screen.Proof("Each of the %d waves began after all of the one before was gone.", len(waves))
	return s.checkNothingLeft(ctx)
}

// checkNothingLeft looks for dependents of all types that the API server has. Objects that controllers have created for
// dependents may take a moment longer.
func (s *stage) checkNothingLeft(ctx context.Context) error {
	kinds, err := watchableKinds(s.discovery)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		left, err := s.list(ctx, kind, client.HasLabels{s.record.label})
		if err != nil {
			return err
		}
		for _, object := range left {
			if s.record.isDependent(&object) {
				return fmt.Errorf("%s is left behind", nameOf(&object))
			}
		}
	}
	s.screen.Proof("Nothing is left of it, checked in %d types.", len(kinds))

	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	return s.await(ctx, "the pods to be gone", func(ctx context.Context) (bool, string, error) {
		left, err := s.list(ctx, pods, client.InNamespace(s.namespace))
		return len(left) == 0, fmt.Sprintf("%d pods are left", len(left)), err
	})
}

// list returns all objects of a type; none if the type itself is gone.
func (s *stage) list(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := s.client.List(ctx, list, options...); err != nil && !isGone(err) {
		return nil, fmt.Errorf("listing %s: %w", kind, err)
	}
	return list.Items, nil
}
