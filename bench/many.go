// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// createMany has the operator create many components of the same spec, and waits until all are ready and nothing happens any
// more.
func (s *stage) createMany(ctx context.Context, n int, spec BundleSpec) error {
	err := parallel(ctx, n, func(ctx context.Context, i int) error {
		bundle := &Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("%s-%d", s.name, i)}, Spec: spec}
		return s.bench.client.Create(ctx, bundle)
	})
	if err != nil {
		return fmt.Errorf("creating components: %w", err)
	}
	for i := range n {
		if _, err := s.seen.await(ctx, fmt.Sprintf("%s-%d", s.name, i), "to become ready", time.Time{}, func(seen sighting) bool { return seen.readyIn(1) }); err != nil {
			return err
		}
		s.tick("%s: %d of %d components are ready", s.name, i+1, n)
	}
	_, err = s.operator.idle(ctx, 0)
	return err
}
