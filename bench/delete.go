// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/component-operator/runtime/bench/internal/measured"
)

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
