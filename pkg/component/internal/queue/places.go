// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"sync"
	"time"
)

const (
	// LongestPass is the maximum duration of a pass. The next pass does the rest.
	LongestPass = 10 * time.Minute
	// crowdDelay is the delay before a component without a place tries again.
	crowdDelay = 3 * time.Second
	// slowVisit is the duration of a request from which on a remote cluster is slow.
	slowVisit = 5 * time.Second
)

// Places limit the number of workers that wait for slow remote clusters to half of them, so that the others can serve
// all other components. A cluster counts as slow unless it answered all requests of the last pass quickly. Places are
// safe for concurrent use.
type Places struct {
	slow  time.Duration
	limit int

	mu    sync.Mutex
	taken int
	quick map[string]bool // by target
}

// NewPlaces returns places for a number of workers. The default for the duration of slow requests is 5 seconds.
func NewPlaces(workers int, slow time.Duration) *Places {
	return &Places{slow: cmp.Or(slow, slowVisit), limit: max(workers/2, 1), quick: map[string]bool{}}
}

// Forget drops what is known about a target.
func (p *Places) Forget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.quick, target)
}

// enter begins the work with a target, unless that takes a place and there is none. The returned function ends it.
func (p *Places) enter(target string) (leave func(slow bool), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seated := !p.quick[target]
	if seated && p.taken >= p.limit {
		return nil, false
	}
	if seated {
		p.taken++
	}
	return func(slow bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.quick[target] = !slow
		if slow {
			delete(p.quick, target)
		}
		if seated {
			p.taken--
		}
	}, true
}
