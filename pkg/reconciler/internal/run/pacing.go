// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/decide"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

// Pacing says how soon the engine may correct or verify a dependent again.
type Pacing struct {
	Memory decide.OwnerMemory
	Clock  clock.PassiveClock
	// TakeOver are objects that are adopted from any owner.
	TakeOver map[types.ObjectID]bool
	// Siblings are related owners.
	Siblings Siblings
	// Expected is the plan that the call keeps to; nil if there is none.
	Expected *Expectation
}

// Paced adds to the situation how long corrections and verifications of the object have to wait, whether it is adopted
// from any owner, and how the owner that has it is related.
func (p *Pacing) Paced(t *prepare.Object, item *inventory.Item, s decide.Situation) decide.Situation {
	s.TakeOver = p.TakeOver[t.Key]
	s.Holder, s.Relation = p.Siblings.of(item, s)
	if recalled := p.Memory.Peek(t.Key); recalled != nil {
		now := p.Clock.Now()
		s.Correction = recalled.Corrections.Wait(now, decide.CorrectionPacing(t.ReapplyInterval))
		s.Verification = recalled.Verifications.Wait(now, decide.VerificationPacing(t.ReapplyInterval))
		s.Fight = recalled.Fight
	}
	if then := p.Expected.Of(t.Key); then != nil && then.Verb == "" && s.Verification == 0 {
		// An object that the plan leaves alone is verified when the plan no longer counts.
		s.Verification = decide.VerificationPacing(t.ReapplyInterval).Step
	}
	return s
}
