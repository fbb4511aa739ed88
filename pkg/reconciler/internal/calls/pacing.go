// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/pkg/reconciler/internal/decisions"
	"github.com/component-operator/runtime/pkg/reconciler/internal/memory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
	"github.com/component-operator/runtime/pkg/types"
)

// Pacing says how soon what was done about a dependent may be done again.
type Pacing struct {
	Memory memory.Owner
	Clock  clock.PassiveClock
	// TakeOver are objects that are adopted whoever owns them.
	TakeOver map[types.ObjectID]bool
	// Expected is the plan to which the call keeps; nil if it has none.
	Expected *Expectation
}

// Paced adds how long corrections and verifications of the object have to wait, and whether it is to be taken over.
func (p *Pacing) Paced(t *targets.Target, s decisions.Situation) decisions.Situation {
	s.TakeOver = p.TakeOver[t.Key]
	if recalled := p.Memory.Peek(t.Key); recalled != nil {
		now := p.Clock.Now()
		s.Correction = recalled.Corrections.Wait(now, memory.CorrectionPacing(t.ReapplyInterval))
		s.Verification = recalled.Verifications.Wait(now, memory.VerificationPacing(t.ReapplyInterval))
		s.Fight = recalled.Fight
	}
	if then := p.Expected.Of(t.Key); then != nil && then.Verb == "" && s.Verification == 0 {
		// What the plan leaves alone is looked into when the plan does not count any more.
		s.Verification = memory.VerificationPacing(t.ReapplyInterval).Step
	}
	return s
}
