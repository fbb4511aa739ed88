// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"fmt"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
)

// CheckOwnership refuses objects of another owner that the observer knows. Others are refused when they would be created.
func (w *Waves) CheckOwnership(wanted []*desired.Object) error {
	var problems []string
	for _, t := range wanted {
		item := w.call.Ledger.Of(t)
		if bookkeeping.IsWritten(item) || bookkeeping.IsCompleting(item) || t.Adoption == inventory.AdoptionPolicyAlways {
			continue
		}
		seen, view := w.call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
		if view != observe.Present || seen.Owner == w.call.Owner.Label || seen.Deleting {
			continue
		}
		s := w.call.Pacing.Paced(t, item, decisions.Situation{Owner: w.call.Owner.Label, Exists: true, Seen: seen})
		if s.Relation != "" || s.IsTakenOver() {
			continue
		}
		if d := decisions.Foreign(t, item, s); d.Action == decisions.Refuse {
			item.Holder = ""
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
