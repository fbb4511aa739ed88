// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"

	apitypes "k8s.io/apimachinery/pkg/types"
)

// Turns ensures that passes of one component do not overlap. The controller does so anyway, but Reconcile is public.
// The zero value is ready for use.
type Turns struct {
	mu     sync.Mutex
	active map[apitypes.NamespacedName]*turn
}

type turn struct {
	sync.Mutex
	users int
}

// Begin waits until no other pass of the component is under way. The returned function ends the pass.
func (t *Turns) Begin(key apitypes.NamespacedName) (end func()) {
	t.mu.Lock()
	own := t.active[key]
	if own == nil {
		if t.active == nil {
			t.active = map[apitypes.NamespacedName]*turn{}
		}
		own = &turn{}
		t.active[key] = own
	}
	own.users++
	t.mu.Unlock()
	own.Lock()
	return func() {
		own.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(t.active, key)
		}
	}
}

// Passes returns the number of components with a running pass.
func (t *Turns) Passes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.active)
}
