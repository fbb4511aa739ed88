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
	// firstLook is the time after which a type is looked for again that was not served.
	firstLook = 250 * time.Millisecond
	// changeLook is the number of doublings of that after a change of types, which the server takes a moment to know of.
	changeLook = 2
)

// absences has the feeds of types that the server does not know wait until it does. However many types are waited for, all are looked up by the
// same requests; so a record that names thousands of types costs no more than one that names one.
type absences struct {
	// list returns the types that the server knows.
	list func() (*served, error)

	mu      sync.Mutex
	waiting map[schema.GroupVersionKind]*absence
	watched bool // changes of types are reported
	// attempts counts the looks since something last was reason to expect another answer.
	attempts int
	timer    *time.Timer // nil if nobody waits, or while the server is asked
	due      time.Time   // when the timer fires
	looking  bool
}

// absence is a type that is waited for.
type absence struct {
	served chan struct{} // closed when the server knows the type
	count  int           // of those who wait
}

// lookDelay returns the time until the next look. As long as changes of types are reported, a look without one is a precaution.
func lookDelay(attempts int, watched bool) time.Duration {
	longest := time.Minute
	if watched {
		longest = 30 * time.Minute
	}
	return min(firstLook<<min(attempts, 15), longest)
}

// await returns when the server is seen to know the type, or the context has ended.
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

// listener returns a listener that also says what those who wait are to know.
func (a *absences) listener(next TypeListener) TypeListener {
	return TypeListener{
		Watched: func(watched bool) {
			a.mu.Lock()
			a.watched = watched
			// What happened while nobody watched is not known.
			a.expectLocked(changeLook)
			a.mu.Unlock()
			next.Watched(watched)
		},
		Changed: func() {
			a.mu.Lock()
			a.expectLocked(changeLook)
			a.mu.Unlock()
			next.Changed()
		},
	}
}

// expectLocked has the next look take place soon, after the given number of doublings of the first delay.
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

// look asks the server which types it knows.
func (a *absences) look() {
	a.mu.Lock()
	if a.looking || len(a.waiting) == 0 {
		a.mu.Unlock()
		return
	}
	if a.timer != nil {
		// The one that has fired was replaced at that moment.
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

// served are the types that a server knows.
type served struct {
	groups *metav1.APIGroupList
	// resources by version; nil if the server does not list them together with the groups.
	resources map[schema.GroupVersion]*metav1.APIResourceList
}

// has reports whether the server knows a type, or may know it.
func (s *served) has(gvk schema.GroupVersionKind) bool {
	if s.resources != nil {
		list := s.resources[gvk.GroupVersion()]
		return list != nil && slices.ContainsFunc(list.APIResources, func(resource metav1.APIResource) bool { return resource.Kind == gvk.Kind })
	}
	return slices.ContainsFunc(s.groups.Groups, func(group metav1.APIGroup) bool {
		return group.Name == gvk.Group && slices.ContainsFunc(group.Versions, func(version metav1.GroupVersionForDiscovery) bool { return version.Version == gvk.Version })
	})
}
