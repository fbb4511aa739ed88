// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// Consent asks the owner of a call before requests that change something. It is safe for concurrent use.
type Consent struct {
	ledger   *Ledger
	observer execute.Observer
	fence    func() error
	ask      func(ctx context.Context) error

	denial atomic.Pointer[inventory.FencedError] // why the owner did not confirm; nil if it did, or was not asked
	asking sync.Mutex                            // held while the owner is asked; guards the fields below
	asked  bool
	// confirmed are the indexes of desired objects that had vanished when the owner confirmed.
	confirmed map[int]bool
}

// NewConsent returns the consent of an owner with the functions Fence and Confirm, each of which may be nil.
func NewConsent(ledger *Ledger, observer execute.Observer, fence func() error, confirm func(context.Context) error) *Consent {
	return &Consent{ledger: ledger, observer: observer, fence: fence, ask: confirm, confirmed: map[int]bool{}}
}

// Confirm asks the owner whether a desired object that was written before, and has vanished, is still wanted. It must
// be called after the object was found to have vanished, and before it is created again.
//
// Another process may work for the same owner, for a moment or by mistake, and may have deleted the object because it
// knows more: that the owner is being deleted, for example, or wants something else. What it knew was true before it
// deleted the object. Since the question comes after that, the answer takes it into account, however outdated this call
// is. An object that vanishes after the question needs another one; objects that the observer knew to have vanished
// before do not.
//
// One gap remains between the question and the create: if a third party has deleted the object, and the owner ceases to
// want it only then, the other process may have looked for the object in vain before this call creates it. This gap
// exists for each object that is created for the first time, too.
func (c *Consent) Confirm(ctx context.Context, t *prepare.Object) error {
	if c.ask == nil || !decide.MayExist(c.ledger.Of(t)) {
		return nil
	}
	c.asking.Lock()
	defer c.asking.Unlock()
	if !c.confirmed[t.Index] && c.MayGoOn() == nil {
		c.confirmVanished()
		if err := c.ask(ctx); err != nil {
			c.denial.Store(&inventory.FencedError{Reason: err})
		}
	}
	// The answer counts once: if the object is created and vanishes again, it has vanished after the question.
	c.confirmed[t.Index] = false
	return c.MayGoOn()
}

// confirmVanished lets the first question of a pass count for all objects that have vanished before. The caller must
// hold c.asking.
func (c *Consent) confirmVanished() {
	if c.asked {
		return
	}
	c.asked = true
	for i, item := range c.ledger.Wanted {
		// Other goroutines change their items; a method with a value receiver would read all fields.
		_, view := c.observer.Get(schema.GroupVersionKind(item.TypeVersionInfo), item.Namespace, item.Name)
		c.confirmed[i] = view == observe.Absent
	}
}

// Permit returns a *inventory.FencedError if nothing may be changed any more.
func (c *Consent) Permit() error {
	if err := c.MayGoOn(); err != nil || c.fence == nil {
		return err
	}
	if err := c.fence(); err != nil {
		return &inventory.FencedError{Reason: err}
	}
	return nil
}

// Withdraw ends the call because of an error of the owner, which it returns as a *inventory.FencedError.
func (c *Consent) Withdraw(err error) error {
	c.denial.Store(&inventory.FencedError{Reason: err})
	return c.MayGoOn()
}

// MayGoOn returns a *inventory.FencedError if the owner has not confirmed, or has withdrawn.
func (c *Consent) MayGoOn() error {
	if denial := c.denial.Load(); denial != nil {
		return denial
	}
	return nil
}
