// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/component-operator/runtime/internal/requests"
)

// restart measures the first pass of an operator that finds everything as it should be.
func restart(ctx context.Context, l *lab) ([]figure, error) {
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
		if s.operator, err = l.startOperator(ctx, bundles); err != nil {
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
	f := latency("500 dependents, components known to first pass ended", times).atMost(barValue, 500)
	f.P99 = nil
	return []figure{
		f,
		most("writes", writes).exactly(0),
		most("reads of dependents", reads).exactly(0),
		count("requests of the whole start", len(all)),
	}, nil
}

// coldStart measures how long an operator takes to look at all of many components that are as they should be.
func coldStart(ctx context.Context, l *lab) ([]figure, error) {
	n := pick(l, 100, 2000)
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.createMany(ctx, n, BundleSpec{Dependents: 20, PayloadBytes: 100}, "to become ready", ready); err != nil {
		return nil, err
	}
	if err := s.operator.shutDown(); err != nil {
		return nil, err
	}
	started, used := time.Now(), cpuTime()
	if s.operator, err = l.startOperator(ctx, bundles); err != nil {
		return nil, err
	}
	ended, err := s.operator.awaitPasses(ctx, l, n)
	if err != nil {
		return nil, err
	}
	used = cpuTime() - used
	all, err := s.operator.idle(ctx, 0)
	if err != nil {
		return nil, err
	}
	return []figure{
		amount(fmt.Sprintf("%d components x 20, start to all first passes ended", n), ended.Sub(started).Seconds(), "s").atMost(barValue, 30),
		amount("CPU of that", used.Seconds(), "s"),
		count("writes", tally(all, isWrite)).exactly(0),
		count("reads of dependents", tally(all, isDependentRead)).exactly(0),
		count("requests of the whole start", len(all)),
	}, nil
}
