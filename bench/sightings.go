// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/pkg/component"
)

// A sighting is what a watch of the components showed, and when.
type sighting struct {
	at         time.Time
	name       string
	gone       bool
	generation int64
	observed   int64
	state      component.State
	reason     string
	message    string
}

// readyIn tells whether the component was ready in the generation.
func (s sighting) readyIn(generation int64) bool {
	return !s.gone && s.generation == generation && s.observed == generation && s.state == component.StateReady
}

// sightings are all that a watch showed. They may be used concurrently.
type sightings struct {
	mu      sync.Mutex
	byName  map[string][]sighting
	changed chan struct{} // closed and replaced when there are more
	err     error         // why the watch has ended
}

// watch begins to watch the components of the case.
func (l *lab) watch(ctx context.Context) (*sightings, error) {
	c, err := l.connect("eye")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	stream, err := c.client.Watch(ctx, &bundles.BundleList{}, client.InNamespace(l.namespace))
	if err != nil {
		stop()
		return nil, fmt.Errorf("watching components: %w", err)
	}
	s := &sightings{byName: map[string][]sighting{}, changed: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range stream.ResultChan() {
			s.add(event)
		}
		s.end(errors.New("the watch of components has ended"))
	}()
	l.atEnd(func() error {
		stop()
		<-done
		return nil
	})
	return s, nil
}

func (s *sightings) add(event watch.Event) {
	bundle, ok := event.Object.(*bundles.Bundle)
	if !ok {
		return
	}
	seen := sighting{
		at: time.Now(), name: bundle.Name, gone: event.Type == watch.Deleted,
		generation: bundle.Generation, observed: bundle.Status.ObservedGeneration,
	}
	seen.state, seen.reason, seen.message = bundle.Status.GetState()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byName[seen.name] = append(s.byName[seen.name], seen)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *sightings) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	close(s.changed)
	s.changed = make(chan struct{})
}

// await returns the first sighting of a component for which the condition holds, also if that was in the past.
func (s *sightings) await(ctx context.Context, name, what string, condition func(sighting) bool) (sighting, error) {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for {
		s.mu.Lock()
		list, changed, err := s.byName[name], s.changed, s.err
		s.mu.Unlock()
		var last sighting
		for _, seen := range list {
			if condition(seen) {
				return seen, nil
			}
			last = seen
		}
		if err != nil {
			return last, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return last, fmt.Errorf("waiting for %s %s: %w (last seen: %s %s: %s)", name, what, context.Cause(ctx), last.state, last.reason, last.message)
		}
	}
}

// ready waits until the component is ready in the generation.
func (s *sightings) ready(ctx context.Context, name string, generation int64) (sighting, error) {
	return s.await(ctx, name, "to become ready", func(seen sighting) bool { return seen.readyIn(generation) })
}

// gone waits until the component is deleted.
func (s *sightings) gone(ctx context.Context, name string) (sighting, error) {
	return s.await(ctx, name, "to be deleted", func(seen sighting) bool { return seen.gone })
}
