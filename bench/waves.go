// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/internal/requests"
)

// wavesOfMany is the number of waves over which the usual dependents are spread.
const wavesOfMany = 10

// createWaves measures a component of many waves from its creation until it is ready, and what passes between two waves.
func createWaves(ctx context.Context, l *lab) ([]measured.Figure, error) {
	spec := usual
	spec.Waves = wavesOfMany
	return createInParts(ctx, l, spec, parts{
		count: wavesOfMany, title: "10 waves of 50, created to Ready", between: "last response of a wave to first write of the next",
		limit: func(_ context.Context, _ *stage, found limits) (time.Duration, error) { return found.apply, nil },
	})
}

// stepsOfMany is the number of steps over which the usual dependents are spread.
const stepsOfMany = 50

// createSteps measures a component of one wave with many steps from its creation until it is ready, and what passes between two steps. The limit is that
// of a client that writes the objects of a step, and waits for the responses before it goes on to the next one.
func createSteps(ctx context.Context, l *lab) ([]measured.Figure, error) {
	spec := usual
	spec.Steps = stepsOfMany
	return createInParts(ctx, l, spec, parts{
		count: stepsOfMany, title: "50 steps of 10, created to Ready", between: "last response of a step to first write of the next",
		limit: func(ctx context.Context, s *stage, _ limits) (time.Duration, error) {
			return l.limitOfSteps(ctx, s.bare)
		},
	})
}

// parts are waves or steps that follow each other.
type parts struct {
	count          int64
	title, between string // of the figures
	// limit is how long a bare client takes.
	limit func(ctx context.Context, s *stage, found limits) (time.Duration, error)
}

// createInParts measures a component whose dependents are spread over parts.
func createInParts(ctx context.Context, l *lab, spec bundles.BundleSpec, parts parts) ([]measured.Figure, error) {
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	var times, bare, gaps []time.Duration
	var traffic traffic
	err = s.repeat(ctx, func(name string, found limits) error {
		limit, err := parts.limit(ctx, s, found)
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
		between, err := gapsOf(sent, spec.Dependents, parts.count)
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
		measured.Speed(parts.title, times, bare).AtMost(measured.BarRatio, 2),
		measured.Latency(parts.between, gaps).AtMost(measured.BarValue, 20),
		measured.Most("writes to dependents", traffic.writes).Exactly(manyDependents),
		measured.Most("other requests", traffic.others).Noted("%s", traffic.otherKinds),
		measured.Most("events", traffic.events),
	}, nil
}

// gapsOf returns the times between the last response of a wave or step and the first write of the next, given the number of dependents and of these
// parts. It fails if a part begins before the one before has ended.
func gapsOf(list []requests.Request, dependents, parts int64) ([]time.Duration, error) {
	first, last := make([]time.Time, parts), make([]time.Time, parts)
	for _, r := range list {
		if !isDependentWrite(r) {
			continue
		}
		index, err := strconv.ParseInt(r.Name[strings.LastIndex(r.Name, "-")+1:], 10, 64)
		if err != nil || index < 0 || index >= dependents {
			return nil, fmt.Errorf("finding the part of %s: it is none of the dependents", r.Name)
		}
		part := index * parts / dependents
		if first[part].IsZero() || r.Sent.Before(first[part]) {
			first[part] = r.Sent
		}
		if r.Answered.After(last[part]) {
			last[part] = r.Answered
		}
	}
	gaps := make([]time.Duration, 0, parts)
	for part := range parts - 1 {
		gap := first[part+1].Sub(last[part])
		if first[part].IsZero() || gap < 0 {
			return nil, fmt.Errorf("part %d did not follow part %d", part+1, part)
		}
		gaps = append(gaps, gap)
	}
	return gaps, nil
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
