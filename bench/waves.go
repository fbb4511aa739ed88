// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/bench/internal/measured"
	"github.com/component-operator/runtime/internal/requests"
)

// wavesOfMany is the number of waves over which the usual dependents are spread.
const wavesOfMany = 10

// createWaves measures a component of many waves from its creation until it is ready, and what passes between two waves.
func createWaves(ctx context.Context, l *lab) ([]measured.Figure, error) {
	s, err := l.stage(ctx)
	if err != nil {
		return nil, err
	}
	spec := usual
	spec.Waves = wavesOfMany
	var times, applies, gaps []time.Duration
	var traffic traffic
	err = s.repeat(ctx, func(name string, found limits) error {
		before := s.operator.requests.Len()
		bundle, took, err := s.create(ctx, name, spec)
		if err != nil {
			return err
		}
		sent, err := s.operator.idle(ctx, before)
		if err != nil {
			return err
		}
		between, err := gapsOf(sent, spec)
		if err != nil {
			return err
		}
		traffic.add(sent)
		times, applies, gaps = append(times, took), append(applies, found.apply), append(gaps, between...)
		_, err = s.remove(ctx, bundle)
		return err
	})
	if err != nil {
		return nil, err
	}
	return []measured.Figure{
		measured.Speed("10 waves of 50, created to Ready", times, applies).AtMost(measured.BarRatio, 2),
		measured.Latency("last response of a wave to first write of the next", gaps).AtMost(measured.BarValue, 20),
		measured.Most("writes to dependents", traffic.writes).Exactly(manyDependents),
		measured.Most("other requests", traffic.others).Noted("%s", traffic.otherKinds),
		measured.Most("events", traffic.events),
	}, nil
}

// gapsOf returns the times between the last response of a wave and the first write of the next. It fails if a wave begins before
// the one before has ended.
func gapsOf(list []requests.Request, spec bundles.BundleSpec) ([]time.Duration, error) {
	first, last := make([]time.Time, spec.Waves), make([]time.Time, spec.Waves)
	for _, r := range list {
		if !isDependentWrite(r) {
			continue
		}
		index, err := strconv.ParseInt(r.Name[strings.LastIndex(r.Name, "-")+1:], 10, 64)
		if err != nil || index < 0 || index >= spec.Dependents {
			return nil, fmt.Errorf("finding the wave of %s: it is none of the dependents", r.Name)
		}
		wave := index * spec.Waves / spec.Dependents
		if first[wave].IsZero() || r.Sent.Before(first[wave]) {
			first[wave] = r.Sent
		}
		if r.Answered.After(last[wave]) {
			last[wave] = r.Answered
		}
	}
	gaps := make([]time.Duration, 0, spec.Waves)
	for wave := range spec.Waves - 1 {
		gap := first[wave+1].Sub(last[wave])
		if first[wave].IsZero() || first[wave+1].IsZero() || gap < 0 {
			return nil, fmt.Errorf("wave %d did not follow wave %d", wave+1, wave)
		}
		gaps = append(gaps, gap)
	}
	return gaps, nil
}
