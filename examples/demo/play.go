// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
)

// play plays all acts in the given cluster, and leaves nothing behind.
func play(ctx context.Context, config *rest.Config, screen *screen) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := setUp(ctx, config, screen)
	if err != nil {
		return fmt.Errorf("setting up the cluster: %w", err)
	}
	defer func() { err = errors.Join(err, s.tearDown(ctx)) }()

	acts := []struct {
		title string
		play  func(context.Context) error
	}{
		{"The component is created", s.create},
		{"A user scales a Deployment and deletes a Service", s.drift},
		{"The spec changes", s.change},
		{"The component is deleted, although its type is in use", s.delete},
	}
	for i, act := range acts {
		screen.Act(i+1, act.title)
		if err := act.play(ctx); err != nil {
			return fmt.Errorf("act %d: %w", i+1, err)
		}
	}
	screen.End("demo: ok  %d objects, %d requests, %.1f s", s.objects, s.operator.requests.Len(), time.Since(s.began).Seconds())
	return nil
}
