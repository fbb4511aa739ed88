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

// firstDelay is how long to wait before the first discovery of types that were not served.
const firstDelay = 250 * time.Millisecond

// absences makes the watches of types that are not served wait until they are. One discovery serves all waiting types;
// so a record that names thousands of types costs no more than one that names a single type.
type absences struct {
	// list discovers the served types.
	list func() (served, error)
	// kick makes the next discovery take place soon. It has a capacity of one.
	kick chan struct{}

	mu      sync.Mutex
	waiting map[schema.GroupVersionKind]*absence
	watched bool // changes of types are reported
}

// absence is a type that watches wait for.
type absence struct {
	served chan struct{} // closed when the type is served
	count  int           // number of waiting watches
}

func newAbsences(list func() (served, error)) *absences {
	return &absences{list: list, kick: make(chan struct{}, 1), waiting: map[schema.GroupVersionKind]*absence{}}
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
	a.mu.Lock()
	waited := a.waiting[gvk]
	if waited == nil {
		waited = &absence{served: make(chan struct{})}
		a.waiting[gvk] = waited
		a.expect()
	}
	waited.count++
	a.mu.Unlock()
	select {
	case <-waited.served:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if waited.count--; waited.count == 0 && a.waiting[gvk] == waited {
		delete(a.waiting, gvk)
	}
}

// expect makes the next discovery take place soon.
func (a *absences) expect() {
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// listener returns a listener that expects other types after a change, too. Types may also have changed while they were
// not watched.
func (a *absences) listener(next TypeListener) TypeListener {
	return TypeListener{
		Watched: func(watched bool) {
			a.mu.Lock()
			a.watched = watched
			a.mu.Unlock()
			a.expect()
			next.Watched(watched)
		},
		Changed: func() {
			a.expect()
			next.Changed()
		},
	}
}

// run discovers the served types at growing intervals while watches wait, until the context ends. The server serves a
// type a moment after it is defined.
func (a *absences) run(ctx context.Context) {
	attempts, due := 0, time.Time{}
	for {
		var timer <-chan time.Time
		a.mu.Lock()
		if len(a.waiting) > 0 {
			timer = time.After(time.Until(due))
		}
		watched := a.watched
		a.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-a.kick:
			attempts = 0
			if soon := time.Now().Add(jitter(firstDelay)); due.Before(time.Now()) || soon.Before(due) {
				due = soon
			}
		case <-timer:
			a.look()
			attempts++
			due = time.Now().Add(jitter(lookDelay(attempts, watched)))
		}
	}
}

// look discovers the served types.
func (a *absences) look() {
	known, err := a.list()
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for gvk, waited := range a.waiting {
		if known.has(gvk) {
			close(waited.served)
			delete(a.waiting, gvk)
		}
	}
}

// served are the resources that a server serves, by version; nil if it does not list them together with the groups.
type served map[schema.GroupVersion]*metav1.APIResourceList

// has reports whether a type is served, or may be.
func (s served) has(gvk schema.GroupVersionKind) bool {
	list := s[gvk.GroupVersion()]
	return s == nil || list != nil && slices.ContainsFunc(list.APIResources, func(resource metav1.APIResource) bool { return resource.Kind == gvk.Kind })
}
