// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package waves

import (
	"context"
	"fmt"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/bookkeeping"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/desired"
)

// namedOwners is how many objects of other owners are read to learn the names of the owners: the observer knows digests of them.
const namedOwners = 10

// CheckOwnership refuses objects of another owner that the observer knows. Others are refused when they would be created.
func (w *Waves) CheckOwnership(ctx context.Context, wanted []*desired.Object) error {
	var problems []string
	for _, t := range wanted {
		if problem := w.checkOwner(ctx, t, len(problems) < namedOwners); problem != "" {
			problems = append(problems, fmt.Sprintf("%s: %s", t.Key, problem))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	refusal := inventory.NewRefusedError(problems...)
	refusal.Foreign = true
	return refusal
}

// checkOwner returns why an object must not be adopted; empty if it may be, or nobody knows yet. With named, it reads an object of another owner to name the owner.
func (w *Waves) checkOwner(ctx context.Context, t *desired.Object, named bool) string {
	item := w.call.Ledger.Of(t)
	if bookkeeping.IsWritten(item) || bookkeeping.IsCompleting(item) || t.Adoption == inventory.AdoptionPolicyAlways {
		return ""
	}
	seen, view := w.call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	if view != observe.Present || seen.Owner == w.call.Owner.Label || seen.Deleting {
		return ""
	}
	s := w.call.Pacing.Paced(t, item, decisions.Situation{Owner: w.call.Owner.Label, Exists: true, Seen: seen})
	if s.Relation != "" || s.IsTakenOver() {
		return ""
	}
	if decisions.Foreign(t, item, s).Action != decisions.Refuse {
		return ""
	}
	item.Holder = ""
	if named {
		if live, err := w.call.Server.Ask(ctx, item); err == nil {
			s.Whose = live.Whose
		}
	}
	return decisions.Foreign(t, item, s).Message
}
