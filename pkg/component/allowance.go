// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"sync"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
)

const (
	// burst is how many passes of a component may be caused by events of other objects in quick succession. Dependents that become ready
	// need far fewer.
	burst = 50
	// recovery is the time after which one more pass is allowed.
	recovery = time.Second
)

// allowances bound the passes that events of other objects cause: whoever may write an object that a component watches, or one that bears the
// label of a dependent, must not be able to keep a worker busy with that. The zero value is ready for use.
type allowances struct {
	mu    sync.Mutex
	spent map[apitypes.NamespacedName]allowance
}

// allowance is what a component has spent of its burst, as of a time.
type allowance struct {
	spent time.Duration // in terms of recovery
	at    time.Time
}

// left returns the allowance as of now.
func (a allowance) left(now time.Time) allowance {
	return allowance{spent: max(a.spent-max(now.Sub(a.at), 0), 0), at: now}
}

// spend counts a pass.
func (a *allowances) spend(key apitypes.NamespacedName, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.spent == nil {
		a.spent = map[apitypes.NamespacedName]allowance{}
	}
	current := a.spent[key].left(now)
	current.spent = min(current.spent+recovery, burst*recovery)
	a.spent[key] = current
}

// delay returns how long a pass that an event causes has to wait.
func (a *allowances) delay(key apitypes.NamespacedName, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.spent[key].left(now).spent-(burst-1)*recovery, 0)
}

func (a *allowances) forget(key apitypes.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.spent, key)
}
