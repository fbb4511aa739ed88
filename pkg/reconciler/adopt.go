// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import "context"

// unrecordedAdoption reports whether a decision is to adopt an object of which that must be recorded first. Afterwards, nobody could tell what was
// there before from what was created.
func (p *pass) unrecordedAdoption(item *InventoryItem, d decision) bool {
	return p.recordAdoptions && d.verb == VerbAdopted && !item.Adopted
}

// adopt records the adoptions that the outcomes of a tier ask for, in one write, and goes on with these objects.
func (p *pass) adopt(ctx context.Context, t *tally, work func(outcome) (outcome, error)) {
	held := t.adopting
	t.adopting = nil
	if len(held) == 0 {
		return
	}
	for _, o := range held {
		o.item.Adopted = true
	}
	if err := p.save(ctx); err != nil {
		t.add(outcome{}, err)
		return
	}
	each(ctx, p.flow, held, func(o outcome) { t.add(work(o)) })
}
