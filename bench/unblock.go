// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/component"
)

// unblock measures how long a deletion that was blocked by a foreign instance stands still after that has gone.
func unblock(ctx context.Context, l *lab) ([]measured.Figure, error) {
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	samples := pick(l, 5, 50)
	if err := s.createMany(ctx, samples, bundles.BundleSpec{Dependents: 2, PayloadBytes: 100, Kind: bundles.KindDefinition}, "to become ready", ready); err != nil {
		return nil, err
	}
	var begun, requested []time.Duration
	for i := range samples {
		begins, requests, err := s.unblockOne(ctx, s.manyName(i))
		if err != nil {
			return nil, err
		}
		begun, requested = append(begun, begins), append(requested, requests)
		l.Tick("%s: %d of %d", l.name, i+1, samples)
	}
	wait := measured.Latency("the same to the DELETE of the type", requested)
	wait.Note = "a barrier has to be in force for three seconds before"
	return []measured.Figure{measured.Latency("response to the deletion of the last foreign instance to our first write", begun).AtMost(measured.BarP99, 200), wait}, nil
}

// unblockOne returns how long it takes until the barrier in front of a type is put up, and until its deletion is requested.
func (s *stage) unblockOne(ctx context.Context, name string) (begun, requested time.Duration, err error) {
	foreign := &unstructured.Unstructured{}
	foreign.SetGroupVersionKind(bundles.DefinedKind(name))
	foreign.SetNamespace(s.namespace)
	foreign.SetName("foreign")
	if err := s.bench.client.Create(ctx, foreign); err != nil {
		return 0, 0, fmt.Errorf("creating a foreign instance: %w", err)
	}
	bundle := &bundles.Bundle{}
	bundle.Namespace, bundle.Name = s.namespace, name
	if err := s.bench.client.Delete(ctx, bundle); err != nil {
		return 0, 0, fmt.Errorf("deleting the component: %w", err)
	}
	blocked := func(seen sighting) bool { return seen.reason == component.ReadyConditionReasonDeletionBlocked }
	if _, err := s.seen.await(ctx, name, "to be blocked", blocked); err != nil {
		return 0, 0, err
	}
	if _, err := s.operator.idle(ctx, 0); err != nil {
		return 0, 0, err
	}
	before := s.operator.requests.Len()
	if err := s.bench.client.Delete(ctx, foreign); err != nil {
		return 0, 0, fmt.Errorf("deleting the foreign instance: %w", err)
	}
	unblocked := time.Now()
	raised, err := s.operator.awaitRequest(ctx, "the deletion of dependents to begin", before, func(r requests.Request) bool {
		return r.Resource == "validatingadmissionpolicies" && r.IsWrite()
	})
	if err != nil {
		return 0, 0, err
	}
	deleted, err := s.operator.awaitRequest(ctx, "the deletion of the type", before, func(r requests.Request) bool {
		return isDependent(r) && r.Method == http.MethodDelete && strings.Contains(r.Name, name)
	})
	if err != nil {
		return 0, 0, err
	}
	_, err = s.seen.gone(ctx, name)
	return raised.Sent.Sub(unblocked), deleted.Sent.Sub(unblocked), err
}
