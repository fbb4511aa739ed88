// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/component/internal/visits"
)

// bound limits the time that the pass may take. The returned function ends the visit to the target.
func (s *scope) bound(ctx context.Context, limits *visits.Places) (context.Context, func()) {
	ctx, cancel := context.WithTimeoutCause(ctx, visits.LongestPass, visits.ErrTooLong)
	ctx, s.cut = context.WithCancelCause(ctx)
	ctx = clients.WithWatchdog(ctx, &clients.Watchdog{After: limits.Slowness.Request, Slow: s.slowed})
	return ctx, func() {
		if s.visit != nil {
			s.visit.Leave()
		}
		s.cut(nil)
		cancel()
	}
}

// slowed notes that a request to the target takes long. It is called only when there is a visit.
func (s *scope) slowed() {
	if s.visit != nil {
		s.visit.Slowed()
	}
}

// visitTarget begins to deal with a remote cluster, unless as many components as may do so wait for clusters that are slow.
func (w *worker) visitTarget(_ context.Context, s *scope) outcome {
	if s.lost != nil || !s.isRemote() {
		return proceed
	}
	id, err := clients.Key{KubeConfig: identityOf(s.component, "").kubeConfig}.ID()
	if err != nil {
		return outcomeOf(err)
	}
	return w.visit(s, id)
}

// visitFormer is visitTarget for a cluster that has the dependents, and to which the kubeconfig does not lead any more.
func (w *worker) visitFormer(_ context.Context, s *scope) outcome {
	if s.visit != nil || s.target == nil || !clients.IsRemote(s.target.id) {
		return proceed
	}
	return w.visit(s, s.target.id)
}

func (w *worker) visit(s *scope, target string) outcome {
	entered, ok := w.places.Enter(target, s.key, s.cut)
	if !ok {
		return w.crowded(s)
	}
	s.visit = entered
	return proceed
}

// crowded is the outcome of a pass that cannot go on for want of a place. What was wrong with the target the last time is more
// interesting than who else is waiting.
func (w *worker) crowded(s *scope) outcome {
	message := s.memory.unanswered
	if message == "" {
		message = fmt.Sprintf("waiting for its turn: %s (%d)", visits.ErrCrowded, w.places.Limit)
	}
	return outcome{kind: outcomeRetriable, message: message, retryAfter: new(visits.CrowdDelay), crowded: true}
}

// interpret replaces the outcome of a pass that was ended, or got no answer, by one that says so.
func (w *worker) interpret(ctx context.Context, s *scope, o outcome) outcome {
	if slices.Contains([]outcomeKind{outcomeReady, outcomeGone, outcomeAbandoned, outcomeSuspended}, o.kind) {
		s.memory.unanswered, s.memory.silences = "", 0
		return o
	}
	var noAnswer *clients.NoAnswerError
	switch cause := context.Cause(ctx); {
	case o.crowded:
		return o
	case errors.Is(cause, visits.ErrCrowded):
		return w.crowded(s)
	case errors.Is(cause, visits.ErrTooLong):
		o = outcome{kind: outcomeRetriable, message: "the pass took too long, and is continued by the next one" + s.whichTarget(), retryAfter: new(firstBackoff)}
	case o.kind == outcomeError && errors.As(o.err, &noAnswer):
		s.slowed()
		o = outcome{kind: outcomeRetriable, message: noAnswer.Error() + s.whichTarget(), retryAfter: new(backoff(s.memory.silences, s.settings.timing.requeue))}
		s.memory.silences++
	default:
		s.memory.unanswered, s.memory.silences = "", 0
		return o
	}
	s.memory.unanswered = o.message
	return o
}

// whichTarget says where the kubeconfig comes from that leads to the target.
func (s *scope) whichTarget() string {
	if s.visit == nil || s.kubeConfigFrom == "" {
		return ""
	}
	return "; its kubeconfig is in " + s.kubeConfigFrom
}
