// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
)

// Consent is what the owner of a call says to requests that change something. It is safe for concurrent use.
type Consent struct {
	ledger   *Ledger
	observer server.Observer
	fence    func() error
	ask      func(ctx context.Context) error

	denial atomic.Pointer[inventory.FencedError] // why the owner did not confirm; nil if it did, or was not asked
	asking sync.Mutex                            // held while the owner is asked; guards what follows
	asked  bool
	// confirmed are targets, by their index, whose objects had vanished when the owner confirmed what is wanted.
	confirmed map[int]bool
}

// NewConsent returns the consent of an owner with the functions Fence and Confirm, each of which may be nil.
func NewConsent(ledger *Ledger, observer server.Observer, fence func() error, confirm func(context.Context) error) *Consent {
	return &Consent{ledger: ledger, observer: observer, fence: fence, ask: confirm, confirmed: map[int]bool{}}
}

// Confirm asks the owner whether a target that was written before, and has vanished, is still wanted. It must be called after it
// was seen that the object has vanished, and before it is created again.
//
// Another process may work for the same owner, for a moment or by mistake, and have removed the object because it knows more
// than this call was given: that the owner is being deleted, say, or wants something else. What it knows was true before it
// removed the object. As the question is asked after that, the answer takes it into account, however outdated this call is. An
// object that vanishes after the question needs another one; those of which the observer knows by then do not.
//
// What stays open is the time from the question to the create: if strangers have removed the object, and only then the owner
// ceases to want it, the other process may have looked for it in vain before it is created. It is as open for each object that
// is created for the first time.
func (c *Consent) Confirm(ctx context.Context, t *targets.Target) error {
	if c.ask == nil || !records.IsTouched(c.ledger.Of(t)) {
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
	// It counts once: what comes and goes meanwhile has vanished after the question.
	c.confirmed[t.Index] = false
	return c.MayGoOn()
}

// confirmVanished has the first question of a pass count for all objects that have vanished before. The caller must hold c.asking.
func (c *Consent) confirmVanished() {
	if c.asked {
		return
	}
	c.asked = true
	for i, item := range c.ledger.Wanted {
		// Others are at work on their items; a method would copy what they change.
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

// MayGoOn returns a *inventory.FencedError if the owner was asked, and did not confirm.
func (c *Consent) MayGoOn() error {
	if denial := c.denial.Load(); denial != nil {
		return denial
	}
	return nil
}
