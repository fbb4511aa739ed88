// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/bench/internal/bundles"
)

// manyName returns the name of one of many components.
func (l *lab) manyName(i int) string {
	return fmt.Sprintf("%s-%d", l.name, i)
}

// ready tells whether the component was ready in its first generation.
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
