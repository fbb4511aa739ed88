// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/bench/internal/processor"
	"github.com/component-operator/runtime/bench/internal/progress"
	"github.com/component-operator/runtime/internal/requests"
)

// atRest measures what an operator costs while nothing happens.
func atRest(ctx context.Context, l *lab) ([]measured.Figure, error) {
	n, duration := pick(l, 50, 1000), pick(l, 30*time.Second, 10*time.Minute)
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.createMany(ctx, n, bundles.BundleSpec{Dependents: 10, PayloadBytes: 100}, "to become ready", ready); err != nil {
		return nil, err
	}
	before, started, used := s.operator.requests.Len(), time.Now(), processor.Time()
	for time.Since(started) < duration {
		if err := progress.Pause(ctx, min(time.Second, duration-time.Since(started))); err != nil {
			return nil, err
		}
		l.Tick("%s: %s of %s", l.name, time.Since(started).Round(time.Second), duration)
	}
	share := 100 * (processor.Time() - used).Seconds() / time.Since(started).Seconds()
	var busy []requests.Request
	for _, r := range s.operator.requests.Since(before) {
		if !r.IsWatch() && !isLease(r) {
			busy = append(busy, r)
		}
	}
	what := fmt.Sprintf("%d components x 10, %s", n, duration)
	return []measured.Figure{
		measured.Count(what+": requests besides watches and leases", len(busy)).Exactly(0).Noted("%s", oneLine(busy)),
		measured.Amount(what+": share of a core", share, "%").AtMost(measured.BarValue, 1),
		measured.Count("watches of dependents", tally(s.operator.requests.All(), isDependentWatch)).Noted("%s", modes(s.operator.requests.All())),
	}, nil
}

func isDependentWatch(r requests.Request) bool { return isDependent(r) && r.IsWatch() }

// modes tells how dependents are observed: by watches of the whole cluster or of namespaces, or one by one.
func modes(list []requests.Request) string {
	found := map[string]bool{}
	for _, r := range list {
		switch {
		case isDependentWatch(r) && r.Namespace == "":
			found[r.Resource+": one watch of the whole cluster"] = true
		case isDependentWatch(r):
			found[r.Resource+": one watch for each namespace"] = true
		case isDependentRead(r) && r.Name != "":
			found[r.Resource+": read one by one"] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}

// manyName returns the name of one of many components.
func (l *lab) manyName(i int) string {
	return fmt.Sprintf("%s-%d", l.name, i)
}

// ready reports whether the component was ready in its first generation.
func ready(seen sighting) bool { return seen.readyIn(1) }

// createMany creates many components of the same spec, and waits until the condition holds for each of them and the operator has
// nothing to do any more.
func (s *stage) createMany(ctx context.Context, n int, spec bundles.BundleSpec, what string, condition func(sighting) bool) error {
	err := parallel(ctx, n, func(ctx context.Context, i int) error {
		bundle := &bundles.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.manyName(i)}, Spec: spec}
		return s.bench.client.Create(ctx, bundle)
	})
	if err != nil {
		return fmt.Errorf("creating components: %w", err)
	}
	for i := range n {
		if _, err := s.seen.await(ctx, s.manyName(i), what, condition); err != nil {
			return err
		}
		s.Tick("%s: preparing, %d of %d components", s.name, i+1, n)
	}
	_, err = s.operator.idle(ctx, 0)
	return err
}
