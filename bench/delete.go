// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"
)

// deleteComponent measures a component from the request for its deletion until it is gone.
func deleteComponent(ctx context.Context, l *lab) ([]figure, error) {
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
	return []figure{
		speed("500 dependents, deleted to gone", times, removes).atMost(barRatio, 1.5),
		most("writes to dependents", traffic.writes),
		most("reads of dependents", traffic.reads),
		most("other requests", traffic.others).noted("%s", traffic.otherKinds),
		most("events", traffic.events),
	}, nil
}
