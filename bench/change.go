// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/bench/internal/progress"
	"github.com/component-operator/runtime/internal/requests"
)

const mergePatch = "application/merge-patch+json"

// changeOne measures the way of a change of the spec that concerns one of many dependents.
func changeOne(ctx context.Context, l *lab) ([]measured.Figure, error) {
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	bundle, _, err := s.create(ctx, l.name, usual)
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	var traffic traffic
	for i := range pick(l, 5, 20) {
		if _, err := s.operator.idle(ctx, 0); err != nil {
			return nil, err
		}
		before := s.operator.requests.Len()
		patch := client.RawPatch(mergePatch, fmt.Appendf(nil, `{"spec":{"salt":"%d"}}`, i))
		if err := s.bench.client.Patch(ctx, bundle, patch); err != nil {
			return nil, fmt.Errorf("changing the component: %w", err)
		}
		changed := time.Now()
		written, err := s.operator.awaitRequest(ctx, "the changed dependent to be written", before, isDependentWrite)
		if err != nil {
			return nil, err
		}
		times = append(times, written.Answered.Sub(changed))
		if _, err := s.seen.ready(ctx, bundle.Name, bundle.Generation); err != nil {
			return nil, err
		}
		sent, err := s.operator.idle(ctx, before)
		if err != nil {
			return nil, err
		}
		traffic.add(sent)
	}
	return []measured.Figure{
		measured.Latency("change of the spec to response of the dependent's write", times).AtMost(measured.BarValue, 100),
		measured.Most("writes to dependents", traffic.writes).Exactly(1),
		measured.Most("reads of dependents", traffic.reads).Exactly(0),
		measured.Most("other requests", traffic.others).Noted("%s", traffic.otherKinds),
		measured.Most("events", traffic.events),
	}, nil
}

// heal measures how long a change by others stands before it is corrected.
func heal(ctx context.Context, l *lab) ([]measured.Figure, error) {
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	if _, _, err := s.create(ctx, l.name, usual); err != nil {
		return nil, err
	}
	if _, err := s.operator.idle(ctx, 0); err != nil {
		return nil, err
	}
	samples := pick(l, 20, 100)
	var times []time.Duration
	var writes []int
	for i := range samples {
		// Each dependent is changed once: corrections of the same one again and again are put off.
		name := bundles.DependentName(l.name, int64(i)*manyDependents/int64(samples))
		if i >= 20 {
			// Other objects may cause about fifty passes of a component in quick succession, and one each second then.
			if err := progress.Pause(ctx, 2*time.Second); err != nil {
				return nil, err
			}
		}
		took, written, err := s.healOne(ctx, name)
		if err != nil {
			return nil, err
		}
		times, writes = append(times, took), append(writes, written)
		l.Tick("%s: %d of %d", l.name, i+1, samples)
	}
	return []measured.Figure{
		measured.Latency("response to the foreign write to our write, 1 of 500", times).AtMost(measured.BarP99, 100),
		measured.Most("writes to dependents", writes).Exactly(1),
	}, nil
}

// healOne changes a dependent, waits until that is corrected, and then until there is rest again. It returns how long the
// correction took, and how many writes.
func (s *stage) healOne(ctx context.Context, name string) (time.Duration, int, error) {
	before := s.operator.requests.Len()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	if err := s.bench.client.Patch(ctx, object, client.RawPatch(mergePatch, []byte(`{"data":{"content":"changed"}}`))); err != nil {
		return 0, 0, fmt.Errorf("changing a dependent: %w", err)
	}
	changed := time.Now()
	corrects := func(r requests.Request) bool { return isContentWrite(r) && r.Name == name }
	corrected, err := s.operator.awaitRequest(ctx, "the correction of "+name, before, corrects)
	if err != nil {
		return 0, 0, err
	}
	sent, err := s.operator.idle(ctx, before)
	return corrected.Sent.Sub(changed), tally(sent, isContentWrite), err
}
