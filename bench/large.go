// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
)

// largestObject is what no object that the operator stores may exceed; the API server refuses 1.5 MiB.
const largestObject = 900 << 10

// large follows one component with very many dependents through its life.
func large(ctx context.Context, l *lab) ([]measured.Figure, error) {
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	n := pick(l, int64(1000), 10000)
	found, err := s.limits(ctx, s.bare, int(n))
	if err != nil {
		return nil, err
	}
	l.Say("%s: creating %d dependents", l.name, n)
	before := s.operator.requests.Len()
	bundle, took, err := s.create(ctx, l.name, bundles.BundleSpec{Dependents: n, PayloadBytes: dependentBytes})
	if err != nil {
		return nil, err
	}
	figures := []measured.Figure{measured.Speed(fmt.Sprintf("%d dependents, created to Ready", n), []time.Duration{took}, []time.Duration{found.apply})}
	sent, err := s.operator.idle(ctx, before)
	if err != nil {
		return figures, err
	}
	figures = append(figures, measured.Count("writes to dependents for that", tally(sent, isContentWrite)).Exactly(float64(n)))
	largest, err := s.largest(ctx)
	if err != nil {
		return figures, err
	}
	figures = append(figures, measured.Amount("largest object that is stored", float64(largest)/1024, "KiB").AtMost(measured.BarValue, largestObject/1024))

	l.Say("%s: one is changed by another client, then by the spec", l.name)
	healed, writes, err := s.healOne(ctx, bundles.DependentName(l.name, n/2))
	if err != nil {
		return figures, err
	}
	figures = append(figures, measured.Latency("one healed", []time.Duration{healed}), measured.Count("writes to dependents for that", writes).Exactly(1))
	figures, err = s.updateLarge(ctx, bundle, figures)
	if err != nil {
		return figures, err
	}
	l.Say("%s: deleting", l.name)
	took, err = s.remove(ctx, bundle)
	if err != nil {
		return figures, err
	}
	figures = append(figures, measured.Speed("deleted to gone", []time.Duration{took}, []time.Duration{found.remove}))
	left := &corev1.ConfigMapList{}
	if err := s.bench.client.List(ctx, left, client.InNamespace(s.namespace)); err != nil {
		return figures, fmt.Errorf("listing what is left: %w", err)
	}
	return append(figures, measured.Count("ConfigMaps left", len(left.Items)).Exactly(0)), nil
}

func (s *stage) updateLarge(ctx context.Context, bundle *bundles.Bundle, figures []measured.Figure) ([]measured.Figure, error) {
	before := s.operator.requests.Len()
	if err := s.bench.client.Patch(ctx, bundle, client.RawPatch(mergePatch, []byte(`{"spec":{"salt":"x"}}`))); err != nil {
		return figures, fmt.Errorf("changing the component: %w", err)
	}
	changed := time.Now()
	ready, err := s.seen.ready(ctx, bundle.Name, bundle.Generation)
	if err != nil {
		return figures, err
	}
	sent, err := s.operator.idle(ctx, before)
	return append(figures,
		measured.Amount("one changed in the spec, to Ready", measured.Milliseconds([]time.Duration{ready.at.Sub(changed)})[0], "ms"),
		measured.Count("writes to dependents for that", tally(sent, isContentWrite)).Exactly(1),
	), err
}

// largest returns the size in bytes of the largest of all components and ConfigMaps, as JSON.
func (s *stage) largest(ctx context.Context) (int, error) {
	largest := 0
	for resource, of := range map[string]client.Object{"bundles": &bundles.Bundle{}, "configmaps": &corev1.ConfigMap{}} {
		server, err := s.bench.rest(of)
		if err != nil {
			return 0, err
		}
		content, err := server.Get().Namespace(s.namespace).Resource(resource).SetHeader("Accept", "application/json").Do(ctx).Raw()
		if err != nil {
			return 0, fmt.Errorf("listing %s: %w", resource, err)
		}
		var list struct {
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(content, &list); err != nil {
			return 0, fmt.Errorf("decoding %s: %w", resource, err)
		}
		for _, item := range list.Items {
			largest = max(largest, len(item))
		}
	}
	return largest, nil
}
