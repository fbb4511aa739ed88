// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
)

// unrecordedAdoption reports whether a decision adopts an object and the adoption must be recorded first. Afterwards,
// nothing would show whether the object existed before.
func (l *live) unrecordedAdoption(item *inventory.Item, d decide.Decision) bool {
	return l.recordAdoptions && d.Verb == inventory.VerbAdopted && !item.Adopted
}

// adopt records the adoptions that the outcomes of a tier ask for, in one save, and then continues with these objects.
func (w *Waves) adopt(ctx context.Context, t *outcomes, work func(outcome) (outcome, error)) {
	held := t.adopting
	t.adopting = nil
	for _, o := range held {
		o.item.Adopted = true
	}
	saved(ctx, w.call, t, held, func(o outcome) {
		done, err := work(o)
		t.finished(w.call, o.item, done, err)
	})
}
