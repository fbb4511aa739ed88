// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

const (
	// LongestPass is the maximum duration of a pass. The next pass does the rest.
	LongestPass = 10 * time.Minute
	// crowdDelay is the delay before a component without a place tries again.
	crowdDelay = 3 * time.Second
	// slowRequest is the duration from which on a request is slow.
	slowRequest = 5 * time.Second
)

var (
	// errCrowded ends a pass that would wait for a slow cluster while no place is free.
	errCrowded = errors.New("too many components wait for slow clusters")
	// errTooLong ends a pass that has taken too long.
	errTooLong = errors.New("the pass took too long")
)

// Places limit the number of workers that wait for slow remote clusters to half of them, so that the others can serve
// all other components. A cluster counts as slow unless the requests of its last pass were quick. A pass needs a place
// if its cluster counts as slow, or as soon as a request is slow. Places are safe for concurrent use.
type Places struct {
	slow  time.Duration
	limit int

	mu    sync.Mutex
	taken int
	quick map[string]bool // by target
}

// NewPlaces returns places for a number of workers. The default for the duration of slow requests is 5 seconds.
func NewPlaces(workers int, slow time.Duration) *Places {
	return &Places{slow: cmp.Or(slow, slowRequest), limit: max(workers/2, 1), quick: map[string]bool{}}
}

// Forget drops what is known about a target.
func (p *Places) Forget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.quick, target)
}

// visit is the part of a pass that works with a remote cluster. The mutex of the places protects its fields.
type visit struct {
	places *Places
	target string

	seated, slow, over bool
}

// enter begins a visit; nil if there is no place for it.
func (p *Places) enter(target string) *visit {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := &visit{places: p, target: target}
	if !p.quick[target] && !v.sitLocked() {
		return nil
	}
	return v
}

// sitLocked takes a place if the visit has none.
func (v *visit) sitLocked() bool {
	if !v.seated && v.places.taken < v.places.limit {
		v.places.taken++
		v.seated = true
	}
	return v.seated
}

// slowed notes a slow request. It returns false if the visit needs a place and there is none.
func (v *visit) slowed() bool {
	v.places.mu.Lock()
	defer v.places.mu.Unlock()
	if v.over {
		return true
	}
	v.slow = true
	delete(v.places.quick, v.target)
	return v.sitLocked()
}

// leave ends the visit.
func (v *visit) leave() {
	v.places.mu.Lock()
	defer v.places.mu.Unlock()
	v.over = true
	if !v.slow {
		v.places.quick[v.target] = true
	}
	if v.seated {
		v.places.taken--
	}
}
