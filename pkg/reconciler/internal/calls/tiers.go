// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
	"github.com/component-operator/runtime/pkg/reconciler/internal/server"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
)

// Tiers are the tiers of targets within their stages, by the index of the target.
type Tiers []int

// Of returns the tier of a target.
func (r Tiers) Of(t *targets.Target) int { return r[t.Index] }

// Arrange sorts the targets into the apply order of this pass, and returns their tiers. The observer must watch their kinds
// already.
func Arrange(wanted []*targets.Target, ledger *Ledger, known server.Observer) Tiers {
	ranks := make(Tiers, len(ledger.Wanted))
	for _, t := range wanted {
		exists := true
		if kinds.IsWebhookConfiguration(t.Key.GroupKind) {
			_, view := known.Get(t.GVK(), t.Key.Namespace, t.Key.Name)
			exists = view == observe.Present || view == observe.Unseen && ledger.Of(t).UID != ""
		}
		ranks[t.Index] = kinds.ApplyTier(t.Key.GroupKind, exists)
	}
	targets.Sort(wanted, ranks.Of)
	return ranks
}
