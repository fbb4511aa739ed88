// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// firstDelay is how long to wait before the first discovery of types that were not served.
	firstDelay = 250 * time.Millisecond
	// changeDoublings is how often firstDelay doubles after a change of types, because the server serves them a moment
	// later.
	changeDoublings = 2
)

// absences makes the feeds of types that are not served wait until they are. One discovery serves all waiting types; so
// a record that names thousands of types costs no more than one that names a single type.
type absences struct {
	// list discovers the served types.
	list func() (served, error)

	mu      sync.Mutex
	waiting map[schema.GroupVersionKind]*absence
	watched bool // changes of types are reported
	// attempts counts discoveries since the last reason to expect another answer.
	attempts int
	timer    *time.Timer // nil without waiting feeds, or during a discovery
	due      time.Time   // when the timer fires
	looking  bool        // a discovery is under way
}

// absence is a type that feeds wait for.
type absence struct {
	served chan struct{} // closed when the type is served
	count  int           // number of waiting feeds
}

// lookDelay returns the time until the next discovery. While changes of types are reported, a discovery without one is
// only a precaution.
func lookDelay(attempts int, watched bool) time.Duration {
	longest := time.Minute
	if watched {
		longest = 30 * time.Minute
	}
	return min(firstDelay<<min(attempts, 15), longest)
}

// await returns when the type is served, or the context has ended.
func (a *absences) await(ctx context.Context, gvk schema.GroupVersionKind) {
	waited := a.join(gvk)
	defer a.leave(gvk, waited)
	select {
	case <-waited.served:
	case <-ctx.Done():
	}
}

func (a *absences) join(gvk schema.GroupVersionKind) *absence {
	a.mu.Lock()
	defer a.mu.Unlock()
	waited := a.waiting[gvk]
	if waited == nil {
		waited = &absence{served: make(chan struct{})}
		a.waiting[gvk] = waited
		a.expectLocked(0)
	}
	waited.count++
	return waited
}

func (a *absences) leave(gvk schema.GroupVersionKind, waited *absence) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if waited.count--; waited.count > 0 || a.waiting[gvk] != waited {
		return
	}
	delete(a.waiting, gvk)
	if len(a.waiting) == 0 && a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// listener returns a listener that tells the waiting feeds of changes, too.
func (a *absences) listener(next TypeListener) TypeListener {
	return TypeListener{
		Watched: func(watched bool) {
			a.mu.Lock()
			a.watched = watched
			// Types may have changed while they were not watched.
			a.expectLocked(changeDoublings)
			a.mu.Unlock()
			next.Watched(watched)
		},
		Changed: func() {
			a.mu.Lock()
			a.expectLocked(changeDoublings)
			a.mu.Unlock()
			next.Changed()
		},
	}
}

// expectLocked makes the next discovery take place soon, after the given number of doublings of the first delay.
func (a *absences) expectLocked(attempts int) {
	a.attempts = attempts
	switch next := time.Now().Add(lookDelay(attempts, a.watched)); {
	case a.looking:
	case a.timer == nil:
		a.scheduleLocked()
	case next.Before(a.due):
		a.timer.Stop()
		a.scheduleLocked()
	}
}

func (a *absences) scheduleLocked() {
	a.timer = nil
	if len(a.waiting) == 0 {
		return
	}
	delay := jitter(lookDelay(a.attempts, a.watched))
	a.due = time.Now().Add(delay)
	a.timer = time.AfterFunc(delay, a.look)
}

// look discovers the served types.
func (a *absences) look() {
	a.mu.Lock()
	if a.looking || len(a.waiting) == 0 {
		a.mu.Unlock()
		return
	}
	if a.timer != nil {
		// expectLocked has replaced the timer while it fired.
		a.timer.Stop()
	}
	a.looking, a.timer = true, nil
	a.attempts++
	a.mu.Unlock()
	known, err := a.list()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looking = false
	if err == nil {
		for gvk, waited := range a.waiting {
			if known.has(gvk) {
				close(waited.served)
				delete(a.waiting, gvk)
			}
		}
	}
	a.scheduleLocked()
}

// served are the resources that a server serves, by version; nil if it does not list them together with the groups.
type served map[schema.GroupVersion]*metav1.APIResourceList

// has reports whether a type is served, or may be.
func (s served) has(gvk schema.GroupVersionKind) bool {
	list := s[gvk.GroupVersion()]
	return s == nil || list != nil && slices.ContainsFunc(list.APIResources, func(resource metav1.APIResource) bool { return resource.Kind == gvk.Kind })
}
