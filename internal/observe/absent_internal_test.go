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
	known := served{thing.GroupVersion(): {APIResources: []metav1.APIResource{{Kind: "Thing"}}}}
	a := &absences{waiting: map[schema.GroupVersionKind]*absence{}, list: func() (served, error) { return known, nil }}
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
