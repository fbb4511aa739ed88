// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// foreignManager is the field manager of the changes that the operator corrects.
const foreignManager = client.FieldOwner("kubectl")

// drift plays the second act: the operator corrects what another client changes or deletes.
func (s *stage) drift(ctx context.Context) error {
	sent := s.operator.requests.Len()
	if err := s.driftByScaling(ctx); err != nil {
		return err
	}
	if err := s.driftByDeletion(ctx); err != nil {
		return err
	}
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	writes := dependentWrites(s.operator.requests.Since(sent))
	s.screen.Proof("The component is Ready; the corrections took %d writes.", len(writes))
	return nil
}

// driftByScaling scales the Deployment of the API, and waits until it is scaled back.
func (s *stage) driftByScaling(ctx context.Context) error {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name + "-api"}}
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
		return fmt.Errorf("reading the Deployment: %w", err)
	}
	declared := *deployment.Spec.Replicas
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: declared + 5}}
	began := time.Now()
	if err := s.client.SubResource("scale").Update(ctx, deployment, client.WithSubResourceBody(scale), foreignManager); err != nil {
		return fmt.Errorf("scaling the Deployment: %w", err)
	}
	revision, err := strconv.ParseInt(scale.ResourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("scaling the Deployment: %w", err)
	}
	s.screen.Line("A user scales Deployment %s from %d to %d replicas.", deployment.Name, declared, scale.Spec.Replicas)

	healed, err := s.awaitEvent(ctx, revision, "the Deployment to be scaled back", func(e event) bool {
		replicas, _, err := unstructured.NestedInt64(e.object.Object, "spec", "replicas")
		return err == nil && e.is("Deployment", deployment.Name) && !e.deleted && replicas == int64(declared)
	})
	if err != nil {
		return err
	}
	s.screen.Proof("Corrected: %d replicas again, %s after the scaling.", declared, round(healed.at.Sub(began)))
	return nil
}

// driftByDeletion deletes the Service of the API, and waits until it is created again.
func (s *stage) driftByDeletion(ctx context.Context) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name + "-api"}}
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
		return fmt.Errorf("reading the Service: %w", err)
	}
	revision, err := strconv.ParseInt(service.ResourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("reading the Service: %w", err)
	}
	began := time.Now()
	if err := s.client.Delete(ctx, service); err != nil {
		return fmt.Errorf("deleting the Service: %w", err)
	}
	s.screen.Line("A user deletes Service %s.", service.Name)

	healed, err := s.awaitEvent(ctx, revision, "the Service to be created again", func(e event) bool {
		return e.is("Service", service.Name) && !e.deleted && e.object.GetUID() != service.UID
	})
	if err != nil {
		return err
	}
	s.screen.Proof("Corrected: it exists again, %s after the deletion.", round(healed.at.Sub(began)))
	return nil
}

// awaitEvent waits for the first event after a revision that matches.
func (s *stage) awaitEvent(ctx context.Context, revision int64, what string, matches func(event) bool) (event, error) {
	var found event
	err := s.await(ctx, what, func(context.Context) (bool, string, error) {
		events, err := s.record.after(revision)
		for _, e := range events {
			if matches(e) {
				found = e
				return true, "", err
			}
		}
		return false, "no such event yet", err
	})
	return found, err
}

// awaitReady waits until the component is ready and all its workloads are.
func (s *stage) awaitReady(ctx context.Context) error {
	return s.await(ctx, "the component to become ready", func(ctx context.Context) (bool, string, error) {
		service, err := s.component(ctx)
		if err != nil {
			return false, "", err
		}
		if !isDone(service) {
			return false, saying(service), nil
		}
		dependents, err := s.dependents(ctx, service)
		if err != nil {
			return false, err.Error(), nil
		}
		for _, object := range dependents {
			if !s.isReady(object) {
				return false, nameOf(object) + " is not ready", nil
			}
		}
		return true, "", nil
	})
}
