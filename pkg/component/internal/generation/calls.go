// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/component/internal/panics"
	"github.com/component-operator/runtime/pkg/types"
)

// UnfinishedError says that a pass has to end before there is a result. The component is woken when there is one.
type UnfinishedError struct{ message string }

// Error says what is waited for.
func (e *UnfinishedError) Error() string { return e.message }

// Options are the options of Calls.
type Options struct {
	// Limit is the maximum number of calls at the same time. Calls that were canceled and do not return do not count.
	Limit int
	// Patience is how long a pass waits for a call.
	Patience time.Duration
	// Wake schedules a pass of a component. It must not block.
	Wake func(component apitypes.NamespacedName)
	// Took receives the duration of each call.
	Took func(time.Duration)
	// Panics catches panics of generators.
	Panics *panics.Catcher
}

// Calls calls generators. A call that needs longer than a pass waits goes on without the pass, so that it does not occupy a worker. A component has at most one
// call at a time, even if it is not remembered any more. Calls are safe for concurrent use.
type Calls struct {
	options Options
	slots   slots

	mu      sync.Mutex
	closed  bool
	current map[apitypes.NamespacedName]*call
}

// NewCalls returns calls, none of which has begun. Close ends them.
func NewCalls(options Options) *Calls {
	return &Calls{options: options, slots: slots{limit: options.Limit}, current: map[apitypes.NamespacedName]*call{}}
}

// call is one call of a generator.
type call struct {
	calls     *Calls
	component apitypes.NamespacedName
	// inputs is the digest of the inputs, timeout the maximum duration.
	inputs  string
	timeout time.Duration
	cancel  context.CancelFunc
	// done is closed when there is an answer.
	done   chan struct{}
	answer answer

	// The mutex of the calls protects the fields below: when the generator was called, zero before that, whether its context has ended, and whether the pass has
	// ended that waited for it.
	begun    time.Time
	canceled bool
	left     bool
}

// answer is what a generator has returned.
type answer struct {
	objects  []client.Object
	hooks    []deletionhooks.Hook
	warnings *generating.Warnings
	reads    *generating.ClusterReads
	err      error
	// at is when it was returned.
	at time.Time
}

// freshness is how long an answer is valid that nobody has taken: objects in the cluster that the generator has looked at may change.
const freshness = time.Minute

// answer returns the answer to the request. It waits for a limited time. Only one pass of a component calls it at a time.
func (c *Calls) answer(ctx context.Context, inputs string, request Request) (answer, error) {
	patience, cancel := context.WithTimeout(ctx, c.options.Patience)
	defer cancel()
	for {
		present := c.underWay(inputs, request.Component)
		if present == nil {
			begun, err := c.begin(inputs, request)
			if err != nil {
				return answer{}, err
			}
			present = begun
		}
		select {
		case <-present.done:
		case <-patience.Done():
			switch unfinished := present.leave(inputs); {
			case unfinished == nil:
			case ctx.Err() != nil:
				return answer{}, context.Cause(ctx)
			default:
				return answer{}, unfinished
			}
		}
		if c.take(present, inputs) {
			return present.answer, nil
		}
	}
}

// underWay returns the call of the component; nil if there is none. It cancels one with other inputs.
func (c *Calls) underWay(inputs string, component apitypes.NamespacedName) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	present := c.current[component]
	if present == nil {
		return nil
	}
	if present.inputs != inputs {
		present.cancel()
	}
	present.left = false
	return present
}

// begin begins a call.
func (c *Calls) begin(inputs string, request Request) (*call, error) {
	ctx, parameters := request.Prepare()
	if parameters == nil {
		return nil, errors.New("the component has no spec")
	}
	// The context of the pass ends with it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	begun := &call{calls: c, component: request.Component, inputs: inputs, timeout: request.Timeout, cancel: cancel, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		cancel()
		return nil, context.Canceled
	}
	c.current[request.Component] = begun
	go begun.run(ctx, request, parameters)
	return begun, nil
}

// take forgets a call that is done, and reports whether its answer is one to the inputs.
func (c *Calls) take(done *call, inputs string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.current, done.component)
	return done.inputs == inputs && time.Since(done.answer.at) < freshness
}

// Cancel cancels the call of a component, whose answer is not needed any more.
func (c *Calls) Cancel(component apitypes.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	present := c.current[component]
	if present == nil {
		return
	}
	present.cancel()
	present.inputs = ""
	present.left = false
	select {
	case <-present.done:
		delete(c.current, component)
	default:
	}
}

// Close cancels all calls. No call begins after it.
func (c *Calls) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, present := range c.current {
		present.cancel()
	}
}

// run waits for its turn, and calls the generator.
func (l *call) run(ctx context.Context, request Request, parameters types.Unstructurable) {
	defer l.cancel()
	slot := l.calls.slots.seek(request.Urgent)
	select {
	case <-slot.granted:
	case <-ctx.Done():
		l.calls.slots.leave(slot)
		l.finish(answer{err: context.Cause(ctx), reads: &generating.ClusterReads{}})
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, fmt.Errorf("the generator was canceled after %s", l.timeout))
	defer cancel()
	// Whoever does not return after that must not occupy a place.
	context.AfterFunc(ctx, func() {
		l.noteCanceled()
		l.calls.slots.leave(slot)
	})
	l.note(func() { l.begun = time.Now() })
	l.finish(l.generate(ctx, request, parameters))
}

func (l *call) generate(ctx context.Context, request Request, parameters types.Unstructurable) (found answer) {
	begun := time.Now()
	defer func() { l.calls.options.Took(time.Since(begun)) }()
	defer l.calls.options.Panics.Catch(request.Log, func(err error) { found.err = fmt.Errorf("the generator failed with a %w", err) })
	ctx, found.reads = generating.TrackClusterReads(ctx)
	ctx, found.warnings = generating.TrackWarnings(ctx)
	found.objects, found.hooks, found.err = request.call(ctx, parameters)
	if found.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		found.err = fmt.Errorf("%w: %w", context.Cause(ctx), found.err)
	}
	return found
}

// note changes the state of the call. A pass that does not wait any more has to report it.
func (l *call) note(change func()) {
	l.calls.mu.Lock()
	defer l.calls.mu.Unlock()
	change()
	if l.left {
		l.calls.options.Wake(l.component)
	}
}

// noteCanceled notes that the context of the call has ended before the call.
func (l *call) noteCanceled() {
	select {
	case <-l.done:
	default:
		l.note(func() { l.canceled = true })
	}
}

// finish ends the call.
func (l *call) finish(found answer) {
	found.at = time.Now()
	l.answer = found
	l.note(func() { close(l.done) })
}

// leave ends the wait for a call, and returns what is waited for; nil if the call is done.
func (l *call) leave(inputs string) error {
	l.calls.mu.Lock()
	defer l.calls.mu.Unlock()
	select {
	case <-l.done:
		return nil
	default:
	}
	l.left = true
	return &UnfinishedError{l.status(inputs)}
}

// status says what is waited for. It must be called with the lock held.
func (l *call) status(inputs string) string {
	since := l.begun.UTC().Format(time.RFC3339)
	switch {
	case l.begun.IsZero():
		return fmt.Sprintf("waiting for its turn; at most %d calls of the generator run at the same time", l.calls.slots.limit)
	case l.inputs != inputs:
		return "the generator was called at " + since + " for an earlier state of the component and canceled, but has not returned; it is called again when it has"
	case l.canceled:
		return fmt.Sprintf("the generator was called at %s and canceled after %s, but has not returned; it is not called again before it has", since, l.timeout)
	default:
		return "the generator was called at " + since + ", and has not returned yet"
	}
}
