// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
)

const (
	// Burst is how many passes of a component events of other objects may cause in quick succession. Dependents that
	// become ready need far fewer.
	Burst = 50
	// Recovery is the time after which one more pass is allowed.
	Recovery = time.Second
)

// Allowances limit the passes that events of other objects cause. A user who may write an object that a component
// watches, or an object with the label of a dependent, must not be able to keep a worker busy. The zero value is ready
// for use.
type Allowances struct {
	mu    sync.Mutex
	spent map[apitypes.NamespacedName]allowance
}

// allowance is how much of its burst a component has spent at a time.
type allowance struct {
	spent time.Duration // in terms of recovery
	at    time.Time
}

// left returns the allowance at a time.
func (a allowance) left(now time.Time) allowance {
	return allowance{spent: max(a.spent-max(now.Sub(a.at), 0), 0), at: now}
}

// Spend counts a pass.
func (a *Allowances) Spend(key apitypes.NamespacedName, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.spent == nil {
		a.spent = map[apitypes.NamespacedName]allowance{}
	}
	current := a.spent[key].left(now)
	current.spent = min(current.spent+Recovery, Burst*Recovery)
	a.spent[key] = current
}

// Delay returns how long a pass caused by an event has to wait.
func (a *Allowances) Delay(key apitypes.NamespacedName, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.spent[key].left(now).spent-(Burst-1)*Recovery, 0)
}

// Forget drops what is known about a component.
func (a *Allowances) Forget(key apitypes.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.spent, key)
}
