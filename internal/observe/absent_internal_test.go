// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestChangedTypesAreLookedAtSoon waits for a type that would otherwise not be looked up within half an hour.
func TestChangedTypesAreLookedAtSoon(t *testing.T) {
	t.Parallel()
	thing := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	known := served{thing.GroupVersion(): {APIResources: []metav1.APIResource{{Kind: "Thing"}}}}
	var looks atomic.Int64
	a := newAbsences(func() (served, error) {
		if looks.Add(1) == 1 {
			return served{}, nil
		}
		return known, nil
	})
	go a.run(t.Context())
	w := &typeWatch{cache: &Cache{absent: a}, changed: func() {}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		for ctx.Err() == nil && looks.Load() == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		w.change()
	}()
	if a.await(ctx, thing); ctx.Err() != nil {
		t.Error("nobody has looked")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) != 0 {
		t.Errorf("a watch still waits: %v", a.waiting)
	}
}
