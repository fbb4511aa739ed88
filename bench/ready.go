// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/pkg/component"
)

// availableStatus is what the controller of Deployments, of which there is none here, would write.
const availableStatus = `{"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[
{"type":"Available","status":"True","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."},
{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable","message":"ReplicaSet has successfully progressed."}]}}`

// becomeReady measures the way of readiness from a dependent to its component.
func becomeReady(ctx context.Context, l *lab) ([]measured.Figure, error) {
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	samples := pick(l, 20, 200)
	processing := func(seen sighting) bool {
		return seen.state == component.StateProcessing && seen.observed == seen.generation
	}
	spec := bundles.BundleSpec{Dependents: 1, PayloadBytes: 100, Kind: bundles.KindDeployment}
	if err := s.createMany(ctx, samples, spec, "to wait for its Deployment", processing); err != nil {
		return nil, err
	}
	var times []time.Duration
	for i := range samples {
		name := s.manyName(i)
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: bundles.DependentName(name, 0)}}
		if err := s.bench.client.Status().Patch(ctx, deployment, client.RawPatch(mergePatch, []byte(availableStatus))); err != nil {
			return nil, fmt.Errorf("making a Deployment ready: %w", err)
		}
		changed := time.Now()
		ready, err := s.seen.ready(ctx, name, 1)
		if err != nil {
			return nil, err
		}
		times = append(times, ready.at.Sub(changed))
		l.Tick("%s: %d of %d", l.name, i+1, samples)
		if _, err := s.operator.idle(ctx, 0); err != nil {
			return nil, err
		}
	}
	return []measured.Figure{measured.Latency("response to the dependent's status to Ready seen by a watch", times).AtMost(measured.BarP99, 100)}, nil
}
