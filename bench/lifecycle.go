// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/internal/requests"
)

// manyDependents is the number of dependents of the components that speed is measured with.
const manyDependents = 500

// usual is the spec of such a component.
var usual = bundles.BundleSpec{Dependents: manyDependents, PayloadBytes: dependentBytes}

// A stage is a lab with an operator, a watch of the components, and a bare client.
type stage struct {
	*lab
	operator *operator
	seen     *sightings
	bare     *connection
}

func (l *lab) stage(ctx context.Context) (*stage, error) {
	s := &stage{lab: l}
	var err error
	if s.operator, err = l.startOperator(ctx, bundles.Generator); err != nil {
		return nil, err
	}
	if s.seen, err = l.watch(ctx); err != nil {
		return nil, err
	}
	if s.bare, err = l.connect("bare"); err != nil {
		return nil, err
	}
	return s, l.warm(ctx, s.bare)
}

// warm makes the first request of a client, which pays for the connection and for discovery.
func (l *lab) warm(ctx context.Context, c *connection) error {
	return c.client.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(l.namespace))
}

// create creates a component and waits until it is ready. It returns how long that took.
func (s *stage) create(ctx context.Context, name string, spec bundles.BundleSpec) (*bundles.Bundle, time.Duration, error) {
	bundle := &bundles.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: spec}
	started := time.Now()
	if err := s.bench.client.Create(ctx, bundle); err != nil {
		return nil, 0, fmt.Errorf("creating a component: %w", err)
	}
	ready, err := s.seen.ready(ctx, name, bundle.Generation)
	return bundle, ready.at.Sub(started), err
}

// remove deletes a component and waits until it is gone. It returns how long that took.
func (s *stage) remove(ctx context.Context, bundle *bundles.Bundle) (time.Duration, error) {
	started := time.Now()
	if err := s.bench.client.Delete(ctx, bundle); err != nil {
		return 0, fmt.Errorf("deleting a component: %w", err)
	}
	gone, err := s.seen.gone(ctx, bundle.Name)
	return gone.at.Sub(started), err
}

// repeat measures the limit and, right after it, the case, as often as asked for.
func (s *stage) repeat(ctx context.Context, once func(name string, found limits) error) error {
	for i := range s.repeats {
		if err := s.settle(ctx); err != nil {
			return err
		}
		found, err := s.limits(ctx, s.bare, manyDependents)
		if err != nil {
			return err
		}
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := once(fmt.Sprintf("%s-%d", s.name, i), found); err != nil {
			return err
		}
		s.Tick("%s: %d of %d", s.name, i+1, s.repeats)
	}
	return nil
}

// createComponent measures a component of one wave from its creation until it is ready.
func createComponent(ctx context.Context, l *lab) ([]measured.Figure, error) {
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	var times, applies, lists []time.Duration
	var traffic traffic
	err = s.repeat(ctx, func(name string, found limits) error {
		if _, err := s.operator.idle(ctx, 0); err != nil {
			return err
		}
		before := s.operator.requests.Len()
		bundle, took, err := s.create(ctx, name, usual)
		if err != nil {
			return err
		}
		sent, err := s.operator.idle(ctx, before)
		if err != nil {
			return err
		}
		traffic.add(sent)
		times, applies, lists = append(times, took), append(applies, found.apply), append(lists, found.list)
		_, err = s.remove(ctx, bundle)
		return err
	})
	if err != nil {
		return nil, err
	}
	return []measured.Figure{
		measured.Speed("500 dependents, created to Ready", times, applies).AtMost(measured.BarRatio, 1.5),
		measured.Most("writes to dependents", traffic.writes).Exactly(manyDependents),
		measured.Most("reads of dependents", traffic.reads).Exactly(0),
		measured.Most("other requests", traffic.others).AtMost(measured.BarValue, 6).Noted("%s", traffic.otherKinds),
		measured.Most("events", traffic.events).AtMost(measured.BarValue, 3),
		measured.Amount("limit: one LIST", measured.Median(measured.Milliseconds(lists)), "ms"),
	}, nil
}

// traffic sorts the requests of an operator that are not for leases.
type traffic struct {
	writes, reads, others, events []int
	otherKinds                    string // of the time when there were most
}

func (t *traffic) add(list []requests.Request) {
	var others []requests.Request
	for _, r := range list {
		if !isDependentWrite(r) && !isDependentRead(r) && !isEvent(r) && !isLease(r) {
			others = append(others, r)
		}
	}
	t.writes = append(t.writes, tally(list, isDependentWrite))
	t.reads = append(t.reads, tally(list, isDependentRead))
	t.events = append(t.events, tally(list, isEvent))
	if len(t.others) == 0 || len(others) > slices.Max(t.others) {
		t.otherKinds = oneLine(others)
	}
	t.others = append(t.others, len(others))
}

// oneLine is the summary of requests in one line.
func oneLine(list []requests.Request) string {
	return strings.Join(strings.Fields(requests.Summary(list)), " ")
}

// deleteComponent measures a component from the request for its deletion until it is gone.
func deleteComponent(ctx context.Context, l *lab) ([]measured.Figure, error) {
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	var times, removes []time.Duration
	var traffic traffic
	err = s.repeat(ctx, func(name string, found limits) error {
		bundle, _, err := s.create(ctx, name, usual)
		if err != nil {
			return err
		}
		if _, err := s.operator.idle(ctx, 0); err != nil {
			return err
		}
		if err := s.settle(ctx); err != nil {
			return err
		}
		before := s.operator.requests.Len()
		took, err := s.remove(ctx, bundle)
		if err != nil {
			return err
		}
		sent, err := s.operator.idle(ctx, before)
		if err != nil {
			return err
		}
		traffic.add(sent)
		times, removes = append(times, took), append(removes, found.remove)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []measured.Figure{
		measured.Speed("500 dependents, deleted to gone", times, removes).AtMost(measured.BarRatio, 1.5),
		measured.Most("writes to dependents", traffic.writes),
		measured.Most("reads of dependents", traffic.reads),
		measured.Most("other requests", traffic.others).Noted("%s", traffic.otherKinds),
		measured.Most("events", traffic.events),
	}, nil
}
