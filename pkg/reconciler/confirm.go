// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/observe"
)

// create creates the object of a target, provided that it is still wanted.
func (p *pass) create(ctx context.Context, t *target, s situation, d decision) (outcome, error) {
	if err := p.confirm(ctx, t); err != nil {
		return outcome{}, err
	}
	return p.write(ctx, t, s, d)
}

// confirm asks the owner whether a target that was written before, and has vanished, is still wanted. It must be called after it
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
func (p *pass) confirm(ctx context.Context, t *target) error {
	if p.owner.Confirm == nil || !p.item(t).touched() {
		return nil
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	work := &p.works[t.index]
	if !work.confirmed && p.mayGoOn() == nil {
		p.confirmVanished()
		if err := p.owner.Confirm(ctx); err != nil {
			p.denial.Store(&FencedError{Reason: err})
		}
	}
	// It counts once: what comes and goes meanwhile has vanished after the question.
	work.confirmed = false
	return p.mayGoOn()
}

// confirmVanished has the first question of a pass count for all objects that have vanished before. The caller must hold p.asking.
func (p *pass) confirmVanished() {
	if p.asked {
		return
	}
	p.asked = true
	for i := range p.works {
		item := p.works[i].item
		// Others are at work on their items; a method would copy what they change.
		_, view := p.cache.Get(schema.GroupVersionKind(item.TypeVersionInfo), item.Namespace, item.Name)
		p.works[i].confirmed = view == observe.Absent
	}
}

// mayGoOn returns a *FencedError if the owner was asked, and did not confirm.
func (p *pass) mayGoOn() error {
	if denial := p.denial.Load(); denial != nil {
		return denial
	}
	return nil
}
