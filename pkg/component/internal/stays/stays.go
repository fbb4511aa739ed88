// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package stays

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/visits"
)

// Memory is what is remembered of the silence of one target. It is used by one pass at a time; the zero value is ready for use.
type Memory struct {
	// unanswered says why the target was not reached; silences counts passes in a row that got no answer.
	unanswered string
	silences   int
}

// Stay is the time that a pass spends, in part with a remote cluster.
type Stay struct {
	places *visits.Places
	memory *Memory
	key    apitypes.NamespacedName
	// visit is nil before it begins.
	visit *visits.Visit
	// cut ends the pass.
	cut func(reason error)
}

// Begin limits the time that a pass may take. The returned function ends the stay.
func Begin(ctx context.Context, places *visits.Places, memory *Memory, key apitypes.NamespacedName) (*Stay, context.Context, func()) {
	s := &Stay{places: places, memory: memory, key: key}
	ctx, cancel := context.WithTimeoutCause(ctx, visits.LongestPass, visits.ErrTooLong)
	ctx, s.cut = context.WithCancelCause(ctx)
	ctx = clients.WithWatchdog(ctx, &clients.Watchdog{After: places.Slowness.Request, Slow: s.slowed})
	return s, ctx, func() {
		if s.visit != nil {
			s.visit.Leave()
		}
		s.cut(nil)
		cancel()
	}
}

// slowed notes that a request to the target takes long. It is called only when there is a visit.
func (s *Stay) slowed() {
	if s.visit != nil {
		s.visit.Slowed()
	}
}

// Visit begins to deal with a remote cluster, unless as many components as may do so wait for clusters that are slow. There is one visit in
// a pass; later ones have no effect.
func (s *Stay) Visit(target string) outcomes.Outcome {
	if s.visit != nil {
		return outcomes.Proceed
	}
	entered, ok := s.places.Enter(target, s.key, s.cut)
	if !ok {
		return s.crowded()
	}
	s.visit = entered
	return outcomes.Proceed
}

// crowded is the outcome of a pass that cannot go on for want of a place. What was wrong with the target the last time is more
// interesting than who else is waiting.
func (s *Stay) crowded() outcomes.Outcome {
	message := s.memory.unanswered
	if message == "" {
		message = fmt.Sprintf("waiting for its turn: %s (%d)", visits.ErrCrowded, s.places.Limit)
	}
	o := outcomes.Retry(message, visits.CrowdDelay)
	o.Crowded = true
	return o
}

// Interpret replaces the outcome of a pass that was ended, or got no answer, by one that says so, and names the object that
// holds the kubeconfig. The delay grows with each silence, up to the limit.
func (s *Stay) Interpret(ctx context.Context, o outcomes.Outcome, kubeConfigFrom string, limit time.Duration) outcomes.Outcome {
	if slices.Contains([]outcomes.Kind{outcomes.Ready, outcomes.Gone, outcomes.Abandoned, outcomes.Suspended}, o.Kind) {
		s.memory.unanswered, s.memory.silences = "", 0
		return o
	}
	where := ""
	if s.visit != nil && kubeConfigFrom != "" {
		where = "; its kubeconfig is in " + kubeConfigFrom
	}
	var noAnswer *clients.NoAnswerError
	switch cause := context.Cause(ctx); {
	case o.Crowded:
		return o
	case errors.Is(cause, visits.ErrCrowded):
		return s.crowded()
	case errors.Is(cause, visits.ErrTooLong):
		o = outcomes.Retry("the pass took too long, and is continued by the next one"+where, outcomes.FirstBackoff)
	case o.Kind == outcomes.Error && errors.As(o.Err, &noAnswer):
		s.slowed()
		o = outcomes.Retry(noAnswer.Error()+where, outcomes.Backoff(s.memory.silences, limit))
		s.memory.silences++
	default:
		s.memory.unanswered, s.memory.silences = "", 0
		return o
	}
	s.memory.unanswered = o.Message
	return o
}
