// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
)

const (
	// LongestPass is the maximum duration of a pass. The next pass does the rest.
	LongestPass = 10 * time.Minute
	// crowdDelay is the delay before a component without a place tries again.
	crowdDelay = 3 * time.Second
	// slowVisit is the duration of a request that makes a remote cluster count as slow.
	slowVisit = 5 * time.Second
)

// Places limit the number of workers that wait for slow remote clusters to half of them, so that the others can serve
// all other components. A cluster counts as slow unless it answered all requests of the last pass quickly. Places are
// safe for concurrent use.
type Places struct {
	slow  time.Duration
	limit int

	mu    sync.Mutex
	taken int
	quick map[string]bool // by target
}

// NewPlaces returns places for a number of workers. The default for the duration of slow requests is 5 seconds.
func NewPlaces(workers int, slow time.Duration) *Places {
	return &Places{slow: cmp.Or(slow, slowVisit), limit: max(workers/2, 1), quick: map[string]bool{}}
}

// Forget makes a target count as slow until its next visit.
func (p *Places) Forget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.quick, target)
}

// enter begins the work with a target, unless that takes a place and none is free. The returned function ends it.
func (p *Places) enter(target string) (leave func(slow bool), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seated := !p.quick[target]
	if seated && p.taken >= p.limit {
		return nil, false
	}
	if seated {
		p.taken++
	}
	return func(slow bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.quick[target] = !slow
		if slow {
			delete(p.quick, target)
		}
		if seated {
			p.taken--
		}
	}, true
}

// StayMemory is what a process remembers about the failures of one target to answer. Only one pass uses it at a time.
// The zero value is ready for use.
type StayMemory struct {
	// unanswered is why the target was not reached; noAnswers is the number of consecutive passes without an answer.
	unanswered string
	noAnswers  int
}

// Stay is the time that a pass takes, including its work with a remote cluster.
type Stay struct {
	places *Places
	memory *StayMemory
	// leave ends the work with a remote cluster; nil before it begins.
	leave func(slow bool)
}

// errTooLong ends a pass that has taken too long.
var errTooLong = errors.New("the pass took too long")

// BeginStay limits the duration of a pass. The returned function ends the stay.
func BeginStay(ctx context.Context, places *Places, memory *StayMemory) (*Stay, context.Context, func()) {
	s := &Stay{places: places, memory: memory}
	ctx, longest := clients.WithLongest(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, LongestPass, errTooLong)
	return s, ctx, func() {
		if s.leave != nil {
			s.leave(longest.Duration() >= places.slow)
		}
		cancel()
	}
}

// Visit starts the work with a remote cluster, unless too many components wait for slow clusters. Only the first call
// of a pass has an effect.
func (s *Stay) Visit(target string) outcomes.Outcome {
	if s.leave != nil {
		return outcomes.Proceed
	}
	leave, ok := s.places.enter(target)
	if ok {
		s.leave = leave
		return outcomes.Proceed
	}
	reason := fmt.Sprintf("waiting: at most %d components at a time may wait for clusters that answer slowly", s.places.limit)
	// The last error of the target is more useful to users than the reason for the wait.
	o := outcomes.Retry(cmp.Or(s.memory.unanswered, reason), crowdDelay)
	o.Crowded = true
	return o
}

// Remote describes the cluster of dependents in another cluster, for messages. Both fields may be empty.
type Remote struct {
	// Server is the address of the cluster.
	Server string
	// KubeConfigFrom is the object with the kubeconfig.
	KubeConfigFrom string
}

// Interpret replaces the outcome of a pass that was cut off, or got no answer, by one with that reason. Without an
// answer, the delay grows with each pass, up to the limit. The messages of errors and rejections get the cluster of the
// dependents.
func (s *Stay) Interpret(ctx context.Context, o outcomes.Outcome, remote Remote, limit time.Duration) outcomes.Outcome {
	if slices.Contains([]outcomes.Kind{outcomes.Ready, outcomes.Gone, outcomes.Abandoned, outcomes.Suspended, outcomes.Paused, outcomes.Archived}, o.Kind) {
		s.memory.unanswered, s.memory.noAnswers = "", 0
		return o
	}
	noAnswer, isUnanswered := errors.AsType[*clients.NoAnswerError](o.Err)
	where := ""
	if s.leave != nil && remote.KubeConfigFrom != "" {
		where = "; the kubeconfig is in " + remote.KubeConfigFrom
	}
	switch cause := context.Cause(ctx); {
	case o.Crowded:
		return o
	case errors.Is(cause, errTooLong):
		o = outcomes.Retry("the reconciliation was interrupted because it took too long; the next one continues"+where, outcomes.FirstBackoff)
	case o.Kind == outcomes.Error && isUnanswered:
		o = outcomes.Retry(noAnswer.Error()+where, outcomes.Backoff(s.memory.noAnswers, limit))
		s.memory.noAnswers++
	default:
		s.memory.unanswered, s.memory.noAnswers = "", 0
		return remote.explain(o)
	}
	s.memory.unanswered = o.Message
	return o
}

// explain adds the cluster to the message of an outcome that it may have caused.
func (r Remote) explain(o outcomes.Outcome) outcomes.Outcome {
	rejected := o.Kind == outcomes.Refused && (o.Refusal == nil || o.Refusal.Rejected)
	if r.KubeConfigFrom == "" || o.Kind != outcomes.Error && !rejected {
		return o
	}
	if r.Server == "" {
		o.Message += "; the kubeconfig is in " + r.KubeConfigFrom
		return o
	}
	o.Message += "; the dependents are in the cluster at " + r.Server + ", whose kubeconfig is in " + r.KubeConfigFrom
	return o
}
