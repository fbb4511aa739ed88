// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// Tiers are the tiers of desired objects within their stages, by the index of the desired object.
type Tiers []int

// Of returns the tier of a desired object.
func (r Tiers) Of(t *prepare.Object) int { return r[t.Index] }

// Arrange sorts the desired objects into the apply order of this pass, and returns their tiers. The observer must watch
// their kinds already.
func Arrange(wanted []*prepare.Object, ledger *Ledger, known execute.Observer) Tiers {
	ranks := make(Tiers, len(ledger.Wanted))
	for _, t := range wanted {
		exists := true
		if prepare.IsWebhookConfiguration(t.Key.GroupKind) {
			_, view := known.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
			exists = view == observe.Present || view == observe.Unseen && ledger.Of(t).UID != ""
		}
		ranks[t.Index] = prepare.ApplyTier(t.Key.GroupKind, exists)
	}
	prepare.Sort(wanted, ranks.Of)
	return ranks
}
