// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/execute"
	"github.com/component-operator/runtime/pkg/reconciler/internal/guard"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Call has what one call of the engine works with, for one owner.
type Call struct {
	Owner    decide.Owner
	Server   *execute.Server
	Ledger   *Ledger
	Needs    *Needs
	Consent  *Consent
	Memory   decide.OwnerMemory
	Report   *decide.Reporter
	Executor *execute.Executor
	Losses   *guard.Losses
	Barriers *guard.Barriers
	// Deletions limits how many redundant dependents are deleted.
	Deletions inventory.Deletions
	// Policies are those of the owner, without empty fields; the zero value if the owner is being deleted, or asks for
	// nothing to be applied.
	Policies inventory.Policies
	// Additional are the managed types that no dependent defines.
	Additional []inventory.TypeInfo
	Tiers      Tiers
	// TakeOver are objects that are adopted from any owner.
	TakeOver map[types.ObjectID]bool
	// Siblings are other owners of the same objects, by ID, of which one takes over from the other.
	Siblings map[string]inventory.Relation

	expected map[types.ObjectID]*inventory.Change // the plan that the call keeps to; empty if there is none
}

// Paced adds to the situation how long corrections and verifications of the object have to wait, whether it is adopted
// from any owner, and how the owner is related that has it or, if it does not exist, was recorded to have it.
func (c *Call) Paced(t *prepare.Object, item *inventory.Item, s decide.Situation) decide.Situation {
	s.TakeOver = c.TakeOver[t.Key]
	switch {
	case !s.Exists:
		s.Holder = item.Holder
	case s.Seen.Owner != s.Owner:
		for id := range c.Siblings {
			if manifest.OwnerLabel(id) == s.Seen.Owner {
				s.Holder = id
			}
		}
	}
	s.Relation = c.Siblings[s.Holder]
	if recalled := c.Memory.Peek(t.Key); recalled != nil {
		now := c.Server.Clock.Now()
		s.Correction = recalled.Corrections.Wait(now, decide.CorrectionPacing(t.ReapplyInterval))
		s.Verification = recalled.Verifications.Wait(now, decide.VerificationPacing(t.ReapplyInterval))
		s.Fight = recalled.Fight
	}
	if then := c.expected[t.Key]; then != nil && then.Verb == "" && s.Verification == 0 {
		// An object that the plan leaves alone is verified when the plan no longer counts.
		s.Verification = decide.VerificationPacing(t.ReapplyInterval).Step
	}
	return s
}

// Prune returns what happens to a redundant object: it is kept if it contains, or defines, others that stay. Apart from
// that, what is recorded counts, then what its annotation in the cluster says, because an inventory may have lost the
// policy, then the policy of the owner. It is empty if the owner is being deleted.
func (c *Call) Prune(item *inventory.Item, seen observe.Observation) inventory.PrunePolicy {
	if c.Policies.Prune == "" || !decide.IsRedundant(item) {
		return ""
	}
	if c.Losses.Retains(item) {
		return inventory.PrunePolicyKeep
	}
	return cmp.Or(item.PrunePolicy, prepare.PruneOf(seen.PrunePolicy), c.Policies.Prune)
}

// Retry has the call repeated after a while, because an operation on a dependent has failed and may succeed later.
func (c *Call) Retry(item *inventory.Item) {
	c.Report.RequeueAfter(c.Memory.Retry(types.IDOf(item), c.Server.Clock.Now()))
}

// LookAgain has the call repeated after a while if no event will report changes of a dependent, because its kind cannot
// be watched, or because it does not have our label.
func (c *Call) LookAgain(item *inventory.Item) {
	seen, view := c.Server.Observer.Get(item.GroupVersionKind(), item.Namespace, item.Name)
	if view != observe.Present || seen.Owner != c.Owner.Label {
		c.Retry(item)
	}
}
