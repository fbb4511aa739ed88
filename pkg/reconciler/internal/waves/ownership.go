// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"
	"fmt"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
)

// CheckOwnership refuses objects of which the observer knows already that they belong to another owner. Those that only
// the server knows are refused when they are to be created.
func (w *Waves) CheckOwnership(wanted []*targets.Target) error {
	var problems []string
	for _, t := range wanted {
		item := w.Ledger.Of(t)
		if records.IsWritten(item) || records.IsCompleting(item) || t.Adoption == inventory.AdoptionPolicyAlways || w.Pacing.TakeOver[t.Key] {
			continue
		}
		seen, view := w.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
		if view != observe.Present || seen.Owner == w.Owner.Label || seen.Deleting {
			continue
		}
		if d := decisions.Foreign(t, item, decisions.Situation{Owner: w.Owner.Label, Exists: true, Seen: seen}); d.Action == decisions.Refuse {
			problems = append(problems, fmt.Sprintf("%s: %s", t.Key, d.Message))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	refusal := inventory.NewRefusedError(problems...)
	refusal.Foreign = true
	return refusal
}

// Prune deletes, after all objects are ready, what is no longer among them, and reports whether that is gone.
func (w *Waves) Prune(ctx context.Context) (gone bool, err error) {
	if gone, err = w.applier.remover.Delete(ctx, w.Ledger.Unwanted()); err != nil {
		return false, fmt.Errorf("deleting objects that are no longer wanted: %w", err)
	}
	return gone, nil
}
