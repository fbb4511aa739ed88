// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// change plays the third act: after a change of the component, the operator writes only the dependents that differ.
func (s *stage) change(ctx context.Context) error {
	service, err := s.component(ctx)
	if err != nil {
		return fmt.Errorf("reading the component: %w", err)
	}
	before, err := s.dependents(ctx, service)
	if err != nil {
		return err
	}
	sent := s.operator.requests.Len()

	changed := service.DeepCopy()
	changed.Spec.Region = "south"
	changed.Spec.Host = "south.parcels.example.com"
	if err := s.client.Patch(ctx, changed, client.MergeFrom(service)); err != nil {
		return fmt.Errorf("changing the component: %w", err)
	}
	s.screen.Line("The region becomes %s, and the host %s.", changed.Spec.Region, changed.Spec.Host)
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	return s.checkChange(ctx, service.Status.Revision, before, sent)
}

// checkChange checks which dependents differ in the cluster, and which requests the operator has sent.
func (s *stage) checkChange(ctx context.Context, revision int64, before map[string]*unstructured.Unstructured, sent int) error {
	service, err := s.component(ctx)
	if err != nil {
		return fmt.Errorf("reading the component: %w", err)
	}
	if service.Status.Revision != revision+1 {
		return fmt.Errorf("the revision of the component went from %d to %d", revision, service.Status.Revision)
	}
	after, err := s.dependents(ctx, service)
	if err != nil {
		return err
	}
	expected := []string{
		fmt.Sprintf("ConfigMap %s/%s-settings", s.namespace, s.name),
		fmt.Sprintf("Deployment %s/%s-api", s.namespace, s.name),
		fmt.Sprintf("Ingress %s/%s-api", s.namespace, s.name),
	}
	if different := differences(before, after); !slices.Equal(different, expected) {
		return fmt.Errorf("different are %s; should be %s", strings.Join(different, ", "), strings.Join(expected, ", "))
	}
	writes := dependentWrites(s.operator.requests.Since(sent))
	if len(writes) != len(expected) {
		return fmt.Errorf("%d objects had to be written, but the operator sent %s", len(expected), strings.Join(writes, ", "))
	}
	s.screen.Proof("Revision %d is ready; %d of %d objects were written:", service.Status.Revision, len(writes), s.objects)
	for _, name := range expected {
		s.screen.Line("  %s", name)
	}
	return nil
}

// dependents reads all dependents that exist according to the inventory, by name.
func (s *stage) dependents(ctx context.Context, service *v1alpha1.ParcelService) (map[string]*unstructured.Unstructured, error) {
	objects := map[string]*unstructured.Unstructured{}
	for _, item := range service.Status.Inventory {
		if item.Phase == reconciler.PhaseCompleted {
			continue
		}
		object, err := s.get(ctx, item)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", item, err)
		}
		objects[nameOf(object)] = object
	}
	return objects, nil
}

// differences returns the sorted names of the objects that differ in anything but their status.
func differences(before, after map[string]*unstructured.Unstructured) []string {
	var different []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if old := before[name]; old == nil || version(old) != version(after[name]) {
			different = append(different, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			different = append(different, name)
		}
	}
	return different
}

// version changes with the object, but not with its status: kinds that have a status have a generation.
func version(object *unstructured.Unstructured) string {
	if generation := object.GetGeneration(); generation > 0 {
		return fmt.Sprint(object.GetUID(), " generation ", generation)
	}
	return fmt.Sprint(object.GetUID(), " revision ", object.GetResourceVersion())
}

// dependentWrites returns the requests that have written dependents, as method and path.
func dependentWrites(sent []requests.Request) []string {
	var writes []string
	for _, r := range sent {
		if wroteDependent(r) {
			writes = append(writes, r.Method+" "+path.Base(path.Dir(r.Path))+"/"+path.Base(r.Path))
		}
	}
	return writes
}
