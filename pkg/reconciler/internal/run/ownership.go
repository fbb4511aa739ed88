// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// namedOwners is how many objects of other owners are read to learn the names of the owners: the observer knows digests
// of them.
const namedOwners = 10

// CheckOwnership refuses objects of another owner that the observer knows. Others are refused when they would be
// created.
func (w *Waves) CheckOwnership(ctx context.Context, wanted []*prepare.Object) error {
	var problems []string
	named := 0
	for _, t := range wanted {
		s, refused := w.isForeign(t)
		if !refused {
			continue
		}
		item := w.call.Ledger.Of(t)
		item.Holder = ""
		if named < namedOwners {
			live, err := w.call.Server.Ask(ctx, item)
			named++
			_, silent := errors.AsType[*clients.NoAnswerError](err)
			switch {
			case silent || err != nil && ctx.Err() != nil:
				return fmt.Errorf("looking at %s, which has another owner: %w", t.Key, err)
			case err != nil:
				// A user without permission to read it must not learn the names of other owners.
				named = namedOwners
			default:
				s.Whose, s.Named = live.Whose, live.Named
			}
		}
		problem := fmt.Sprintf("%s: %s", t.Key, decide.Foreign(t, item, s).Message)
		w.call.Report.Errs(item, errors.New(problem))
		problems = append(problems, problem)
	}
	if len(problems) == 0 {
		return nil
	}
	refusal := inventory.NewRefusedError(problems...)
	refusal.Foreign = true
	return refusal
}

// isForeign reports whether an object must not be adopted, as far as the observer knows.
func (w *Waves) isForeign(t *prepare.Object) (decide.Situation, bool) {
	item := w.call.Ledger.Of(t)
	if decide.IsWritten(item) || decide.IsCompleting(item) || t.Adoption == inventory.AdoptionPolicyAlways {
		return decide.Situation{}, false
	}
	seen, view := w.call.Server.Observer.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
	if view != observe.Present || seen.Owner == w.call.Owner.Label || seen.Deleting {
		return decide.Situation{}, false
	}
	s := w.call.Paced(t, item, decide.Situation{Owner: w.call.Owner.Label, Exists: true, Seen: seen})
	if s.Relation != "" || s.IsTakenOver() {
		return decide.Situation{}, false
	}
	return s, decide.Foreign(t, item, s).Action == decide.Refuse
}
