// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestLookDelay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason   string
		attempts int
		watched  bool
		want     time.Duration
	}{
		{"a feed has begun to wait", 0, true, firstDelay},
		{"a type has changed", changeDoublings, true, time.Second},
		{"nobody says when types change", 1000, false, time.Minute},
		{"somebody does", 1000, true, 30 * time.Minute},
	} {
		if got := lookDelay(tc.attempts, tc.watched); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
		}
	}
}

// TestChangedTypesAreLookedAtSoon waits for a type that would otherwise not be looked up within half an hour.
func TestChangedTypesAreLookedAtSoon(t *testing.T) {
	t.Parallel()
	thing := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	known := &served{resources: map[schema.GroupVersion]*metav1.APIResourceList{
		thing.GroupVersion(): {APIResources: []metav1.APIResource{{Kind: "Thing"}}},
	}}
	a := &absences{waiting: map[schema.GroupVersionKind]*absence{}, list: func() (*served, error) { return known, nil }}
	listener := a.listener(TypeListener{Watched: func(bool) {}, Changed: func() {}})
	listener.Watched(true)
	a.mu.Lock()
	a.waiting[thing] = &absence{served: make(chan struct{})}
	a.attempts = 1000
	a.scheduleLocked()
	if left := time.Until(a.due); left < 29*time.Minute {
		t.Errorf("the next look is in %s", left)
	}
	a.mu.Unlock()
	listener.Changed()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if a.await(ctx, thing); ctx.Err() != nil {
		t.Error("nobody has looked")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) != 0 || a.timer != nil {
		t.Errorf("a feed still waits: %v, %v", a.waiting, a.timer)
	}
}

// TestOneTimer has a timer fire at the very moment when another one takes its place.
func TestOneTimer(t *testing.T) {
	t.Parallel()
	a := &absences{waiting: map[schema.GroupVersionKind]*absence{}, list: func() (*served, error) {
		return &served{resources: map[schema.GroupVersion]*metav1.APIResourceList{}}, nil
	}}
	waited := a.join(schema.GroupVersionKind{Kind: "Thing"})
	timer := a.timer
	a.look()
	if timer.Stop() {
		t.Error("the other timer goes on, and so does each that comes after it")
	}
	a.leave(schema.GroupVersionKind{Kind: "Thing"}, waited)
}

func TestServed(t *testing.T) {
	t.Parallel()
	thing := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	group := metav1.APIGroup{Name: thing.Group, Versions: []metav1.GroupVersionForDiscovery{{Version: "v2"}}}
	for _, tc := range []struct {
		reason string
		served served
		want   bool
	}{
		{"another kind", served{resources: map[schema.GroupVersion]*metav1.APIResourceList{thing.GroupVersion(): {APIResources: []metav1.APIResource{{Kind: "Other"}}}}}, false},
		{"no such version", served{resources: map[schema.GroupVersion]*metav1.APIResourceList{}}, false},
		{"no such version, of a server that lists groups only", served{groups: &metav1.APIGroupList{Groups: []metav1.APIGroup{group}}}, false},
		{"the version, of a server that lists groups only", served{groups: &metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: thing.Group, Versions: []metav1.GroupVersionForDiscovery{{Version: "v1"}}}}}}, true},
	} {
		if got := tc.served.has(thing); got != tc.want {
			t.Errorf("%s: got %v", tc.reason, got)
		}
	}
}
