// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
)

// stepsOfMany is the number of steps over which the usual dependents are spread.
const stepsOfMany = 50

// createSteps measures a component of one wave with many steps from its creation until it is ready, and what passes between two steps. The limit is that
// of a client that writes the objects of a step, and waits for the responses before it goes on to the next one.
func createSteps(ctx context.Context, l *lab) ([]measured.Figure, error) {
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	spec := usual
	spec.Steps = stepsOfMany
	var times, bare, gaps []time.Duration
	var traffic traffic
	err = s.repeat(ctx, func(name string, _ limits) error {
		limit, err := l.limitOfSteps(ctx, s.bare)
		if err != nil {
			return err
		}
		before := s.operator.requests.Len()
		bundle, took, err := s.create(ctx, name, spec)
		if err != nil {
			return err
		}
		sent, err := s.operator.idle(ctx, before)
		if err != nil {
			return err
		}
		between, err := gapsOf(sent, spec.Dependents, spec.Steps)
		if err != nil {
			return err
		}
		traffic.add(sent)
		times, bare, gaps = append(times, took), append(bare, limit), append(gaps, between...)
		_, err = s.remove(ctx, bundle)
		return err
	})
	if err != nil {
		return nil, err
	}
	return []measured.Figure{
		measured.Speed("50 steps of 10, created to Ready", times, bare).AtMost(measured.BarRatio, 2),
		measured.Latency("last response of a step to first write of the next", gaps).AtMost(measured.BarValue, 20),
		measured.Most("writes to dependents", traffic.writes).Exactly(manyDependents),
		measured.Most("other requests", traffic.others).Noted("%s", traffic.otherKinds),
		measured.Most("events", traffic.events),
	}, nil
}

// limitOfSteps measures how long a bare client takes that writes the objects step by step.
func (l *lab) limitOfSteps(ctx context.Context, bare *connection) (time.Duration, error) {
	var took time.Duration
	var names []string
	for step := range stepsOfMany {
		objects := make([]*unstructured.Unstructured, manyDependents/stepsOfMany)
		for i := range objects {
			name := bundles.DependentName(fmt.Sprintf("limit-%d", step), int64(i))
			objects[i] = bundles.NewConfigMap(name, bundles.Payload(dependentBytes))
			names = append(names, name)
		}
		once, err := bare.applyEach(ctx, l.namespace, objects)
		if err != nil {
			return 0, fmt.Errorf("measuring the limit of steps: %w", err)
		}
		took += once
	}
	if err := bare.deleteEach(ctx, &corev1.ConfigMap{}, l.namespace, names); err != nil {
		return 0, fmt.Errorf("cleaning up after the limit of steps: %w", err)
	}
	return took, l.settle(ctx)
}
