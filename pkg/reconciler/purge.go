// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
)

// purge deletes, at the end of a wave, those of the targets with a purge order that were applied and have served their purpose,
// and tells whether all of them are gone. They have if their purge order is not beyond that of the waves that are over: all up to the next one
// that there is.
func (p *pass) purge(ctx context.Context, purgeable []*target, order, over int) (done bool, err error) {
	var due []*target
	for _, t := range purgeable {
		if t.applyOrder <= order && *t.purgeOrder <= over && p.item(t).Phase != PhaseCompleted {
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return true, nil
	}
	if err := p.schedule(ctx, due); err != nil {
		return false, err
	}
	var all tally
	each(ctx, p.flow, due, func(t *target) {
		item := p.item(t)
		o, err := p.deleteOne(ctx, item, deletion{verb: VerbCompleted, wave: order})
		if o.ready && err == nil {
			item.complete()
		}
		all.add(o, err)
	})
	if err := all.err(); err != nil {
		return false, fmt.Errorf("purging at the end of wave %d: %w", order, err)
	}
	for _, o := range all.unready {
		p.result.Wave, p.result.WaveSize = order, len(due)
		p.note(&p.result.Waits, o.item, "completed; "+o.message)
	}
	return len(all.unready) == 0, nil
}

// schedule records that targets have served their purpose, before the first of them is deleted: whoever finds one of them gone
// must not take that for drift and run it again.
func (p *pass) schedule(ctx context.Context, due []*target) error {
	changed := false
	for _, t := range due {
		if item := p.item(t); !item.completing() {
			item.Phase, changed = PhaseScheduledForCompletion, true
		}
	}
	if !changed {
		return nil
	}
	return p.save(ctx)
}
