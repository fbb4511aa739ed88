// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/bench/internal/processor"
	"github.com/component-operator/runtime/internal/requests"
)

// restart measures the first pass of an operator that finds everything as it should be.
func restart(ctx context.Context, l *lab) ([]measured.Figure, error) {
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
	var times []time.Duration
	var writes, reads []int
	var all []requests.Request
	for range l.repeats {
		if err := s.operator.shutDown(); err != nil {
			return nil, err
		}
		if s.operator, err = l.startOperator(ctx, bundles.Generator); err != nil {
			return nil, err
		}
		ended, err := s.operator.awaitPasses(ctx, l, 1)
		if err != nil {
			return nil, err
		}
		if all, err = s.operator.idle(ctx, 0); err != nil {
			return nil, err
		}
		times = append(times, ended.Sub(s.operator.synced))
		writes, reads = append(writes, tally(all, isWrite)), append(reads, tally(all, isDependentRead))
	}
	f := measured.Latency("500 dependents, components known to first pass ended", times).AtMost(measured.BarValue, 500)
	f.P99 = nil
	return []measured.Figure{
		f,
		measured.Most("writes", writes).Exactly(0),
		measured.Most("reads of dependents", reads).Exactly(0),
		measured.Count("requests of the whole start", len(all)),
	}, nil
}

// coldStart measures how long an operator takes to look at all of many components that are as they should be.
func coldStart(ctx context.Context, l *lab) ([]measured.Figure, error) {
	n := pick(l, 100, 2000)
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.createMany(ctx, n, bundles.BundleSpec{Dependents: 20, PayloadBytes: 100}, "to become ready", ready); err != nil {
		return nil, err
	}
	if err := s.operator.shutDown(); err != nil {
		return nil, err
	}
	started, used := time.Now(), processor.Time()
	if s.operator, err = l.startOperator(ctx, bundles.Generator); err != nil {
		return nil, err
	}
	ended, err := s.operator.awaitPasses(ctx, l, n)
	if err != nil {
		return nil, err
	}
	used = processor.Time() - used
	all, err := s.operator.idle(ctx, 0)
	if err != nil {
		return nil, err
	}
	return []measured.Figure{
		measured.Amount(fmt.Sprintf("%d components x 20, start to all first passes ended", n), ended.Sub(started).Seconds(), "s").AtMost(measured.BarValue, 30),
		measured.Amount("CPU of that", used.Seconds(), "s"),
		measured.Count("writes", tally(all, isWrite)).Exactly(0),
		measured.Count("reads of dependents", tally(all, isDependentRead)).Exactly(0),
		measured.Count("requests of the whole start", len(all)),
	}, nil
}
