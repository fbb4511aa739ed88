// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package visits

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
)

// LongestPass is the maximum duration of a pass. The next pass does the rest.
const LongestPass = 10 * time.Minute

// Slowness defines when a remote cluster counts as slow. Tests set shorter times; the zero value means the defaults.
type Slowness struct {
	// Request is the duration from which on a request is slow. Defaults to 5 seconds.
	Request time.Duration
	// Visit is how long a pass may work with a cluster without a place of its own. Defaults to 30 seconds.
	visit time.Duration
	// rest is how much longer a pass may take after a slow request. Defaults to one minute.
	rest time.Duration
}

func (s Slowness) complete() Slowness {
	return Slowness{Request: cmp.Or(s.Request, 5*time.Second), visit: cmp.Or(s.visit, 30*time.Second), rest: cmp.Or(s.rest, time.Minute)}
}

var (
	// ErrCrowded ends a pass that would wait for a slow cluster while no place is free.
	ErrCrowded = errors.New("too many components wait for slow clusters")
	// ErrTooLong ends a pass that has taken too long.
	ErrTooLong = errors.New("the pass took too long")
)

// Places limit the number of workers that wait for slow remote clusters to half of them, so that the others can serve all other components. A cluster
// counts as slow unless the last pass was quick. A pass needs a place if its cluster counts as slow, once a request is slow, and when it lasts long.
// Without a free place, it ends. Components get free places in the order in which they have asked.
type Places struct {
	Limit    int
	Slowness Slowness
	// Call schedules a pass of a component for which a place is free. It must not block.
	Call func(component apitypes.NamespacedName)
	now  func() time.Time

	mu    sync.Mutex
	taken int
	// quick has the targets whose last pass had no slow request.
	quick map[string]bool
	line  []applicant
}

// applicant is a component that waits for a place.
type applicant struct {
	component apitypes.NamespacedName
	// asked is when it last asked.
	asked time.Time
}

// applicantPatience is how long a place is reserved for a component that no longer asks, for example because it was deleted.
const applicantPatience = 5 * CrowdDelay

// New returns places for a number of workers.
func New(workers int, slowness Slowness) *Places {
	return &Places{
		Limit: max(workers/2, 1), Slowness: slowness.complete(), quick: map[string]bool{},
		Call: func(apitypes.NamespacedName) {}, now: time.Now,
	}
}

// Enter starts a visit of a component to a target, unless it must wait for a place. Call leave to end the visit. Enter calls cut to stop the work;
// cut must not block.
func (p *Places) Enter(target string, component apitypes.NamespacedName, cut func(reason error)) (*Visit, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := &Visit{places: p, target: target, cut: cut}
	if !p.quick[target] && (!p.isNextLocked(component) || !v.sitLocked()) {
		return nil, false
	}
	p.line = slices.DeleteFunc(p.line, func(a applicant) bool { return a.component == component })
	v.limit = time.AfterFunc(p.Slowness.visit, v.lasting)
	return v, true
}

// isNextLocked reports whether a place is free that no earlier applicant waits for. Otherwise, it puts the component in line.
func (p *Places) isNextLocked(component apitypes.NamespacedName) bool {
	now := p.now()
	p.line = slices.DeleteFunc(p.line, func(a applicant) bool { return a.component != component && now.Sub(a.asked) > applicantPatience })
	position := slices.IndexFunc(p.line, func(a applicant) bool { return a.component == component })
	if position < 0 {
		position = len(p.line)
		p.line = append(p.line, applicant{component: component})
	}
	p.line[position].asked = now
	return p.taken+position < p.Limit
}

// Forget drops what is known about a target.
func (p *Places) Forget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.quick, target)
}

// Visit is the part of a pass that works with a remote cluster. The mutex of the places protects its fields.
type Visit struct {
	places *Places
	target string
	cut    func(reason error)
	// limit ends the part without a place of its own, rest what follows a slow request.
	limit, rest *time.Timer

	seated, slow, over bool
}

// sitLocked takes a place if there is one.
func (v *Visit) sitLocked() bool {
	if !v.seated && v.places.taken < v.places.Limit {
		v.places.taken++
		v.seated = true
	}
	return v.seated
}

// Slowed notes that a request is slow, or had no answer.
func (v *Visit) Slowed() {
	v.places.mu.Lock()
	defer v.places.mu.Unlock()
	if v.slow || v.over {
		return
	}
	v.slow = true
	delete(v.places.quick, v.target)
	if !v.sitLocked() {
		v.cut(ErrCrowded)
		return
	}
	v.rest = time.AfterFunc(v.places.Slowness.rest, func() { v.cut(ErrTooLong) })
}

// lasting notes that the visit takes long.
func (v *Visit) lasting() {
	v.places.mu.Lock()
	defer v.places.mu.Unlock()
	if !v.over && !v.sitLocked() {
		delete(v.places.quick, v.target)
		v.slow = true
		v.cut(ErrCrowded)
	}
}

// Interrupt notes that the pass does other work than with the cluster until it calls resume. How long that takes says nothing about the cluster.
func (v *Visit) Interrupt() (resume func()) {
	v.places.mu.Lock()
	defer v.places.mu.Unlock()
	v.limit.Stop()
	if v.rest != nil {
		v.rest.Stop()
	}
	return func() {
		v.places.mu.Lock()
		defer v.places.mu.Unlock()
		if v.over {
			return
		}
		v.limit.Reset(v.places.Slowness.visit)
		if v.rest != nil {
			v.rest.Reset(v.places.Slowness.rest)
		}
	}
}

// Leave ends the visit.
func (v *Visit) Leave() {
	v.places.mu.Lock()
	defer v.places.mu.Unlock()
	if v.over {
		return
	}
	v.over = true
	v.limit.Stop()
	if v.rest != nil {
		v.rest.Stop()
	}
	if !v.slow {
		v.places.quick[v.target] = true
	}
	if v.seated {
		v.places.taken--
		for _, a := range v.places.line[:min(len(v.places.line), v.places.Limit-v.places.taken)] {
			v.places.Call(a.component)
		}
	}
}

// CrowdDelay is the maximum delay before a component that waits for a place tries again.
const CrowdDelay = 3 * time.Second
