// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
)

// purge deletes, at the end of a wave, those of the targets applied so far that have served their purpose, and tells
// whether all of them are gone. At the end of the last wave that is every target with a purge order.
func (p *pass) purge(ctx context.Context, applied []*target, order int, last bool) (done bool, err error) {
	var due []*target
	for _, t := range applied {
		if t.purgeOrder != nil && (last || *t.purgeOrder <= order) && p.byKey[t.key].Phase != PhaseCompleted {
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return true, nil
	}
	var all tally
	each(p.options.MaxConcurrency, due, func(t *target) {
		item := p.byKey[t.key]
		if !item.completing() {
			item.Phase = PhaseScheduledForCompletion
		}
		o, err := p.deleteOne(ctx, item, deletion{verb: VerbCompleted, wave: order})
		if o.ready && err == nil {
			item.Phase, item.Status = PhaseCompleted, ""
			item.Fingerprint, item.Baseline = "", ""
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
