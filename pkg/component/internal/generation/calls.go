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
	"github.com/component-operator/runtime/pkg/types"
)

// UnfinishedError says that a generator has not returned although it was canceled. The component is woken when it has.
type UnfinishedError struct{ message string }

// Error says what is waited for.
func (e *UnfinishedError) Error() string { return e.message }

// Options are the options of Calls.
type Options struct {
	// Patience is how long a call lasts before it is announced, and how long a generator has to return after it was
	// canceled.
	Patience time.Duration
	// Wake schedules a pass of a component. It must not block.
	Wake func(component apitypes.NamespacedName)
	// Took receives the duration of each call.
	Took func(time.Duration)
	// Panics catches panics of generators.
	Panics *Catcher
}

// Calls calls generators, and remembers calls that do not return. A component has at most one call at a time, even if
// nothing else is remembered of it. Calls are safe for concurrent use.
type Calls struct {
	options Options

	mu      sync.Mutex
	current map[apitypes.NamespacedName]*call
}

// NewCalls returns calls, none of which has begun.
func NewCalls(options Options) *Calls {
	return &Calls{options: options, current: map[apitypes.NamespacedName]*call{}}
}

// call is one call of a generator.
type call struct {
	begun time.Time
	// done is closed when there is an answer.
	done   chan struct{}
	answer answer

	// The mutex of the calls protects the fields below. The call was canceled after some time. The pass has left it then.
	after time.Duration
	left  bool
}

// answer is what a generator has returned.
type answer struct {
	objects  []client.Object
	hooks    []deletionhooks.Hook
	warnings *generating.Warnings
	reads    *generating.ClusterReads
	err      error
}

// answer returns the answer to the request. Only one pass of a component calls it at a time.
func (c *Calls) answer(ctx context.Context, request Request) (answer, error) {
	if former := c.underWay(request.Component); former != nil {
		if err := c.await(ctx, former); err != nil {
			return answer{}, err
		}
	}
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
	}
	callCtx, parameters := request.Prepare()
	if parameters == nil {
		return answer{}, errors.New("the component has no spec")
	}
	callCtx, cancel := context.WithTimeoutCause(callCtx, request.Timeout, fmt.Errorf("the generator was canceled after %s", request.Timeout))
	defer cancel()
	begun := c.begin(callCtx, request, parameters)
	slow := time.NewTimer(c.options.Patience)
	defer slow.Stop()
	for {
		select {
		case <-begun.done:
		case <-slow.C:
			request.Slow("the generator was called at " + begun.begun.UTC().Format(time.RFC3339) + ", and has not returned yet")
			continue
		case <-callCtx.Done():
			if err := c.await(context.WithoutCancel(ctx), begun); err != nil {
				return answer{}, err
			}
		}
		return begun.answer, nil
	}
}

// underWay returns the call of the component that has not ended; nil if there is none.
func (c *Calls) underWay(component apitypes.NamespacedName) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current[component]
}

// begin begins a call.
func (c *Calls) begin(ctx context.Context, request Request, parameters types.Unstructurable) *call {
	begun := &call{begun: time.Now(), done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current[request.Component] = begun
	go c.run(ctx, begun, request, parameters)
	return begun
}

// await waits a moment for a call that was canceled. It fails if the call does not end; the component will be woken
// then.
func (c *Calls) await(ctx context.Context, canceled *call) error {
	patience := time.NewTimer(c.options.Patience)
	defer patience.Stop()
	select {
	case <-canceled.done:
		return nil
	case <-patience.C:
	case <-ctx.Done():
	}
	return c.leave(canceled)
}

// run calls the generator.
func (c *Calls) run(ctx context.Context, begun *call, request Request, parameters types.Unstructurable) {
	found := answer{err: errors.New("the generator has ended its goroutine"), reads: &generating.ClusterReads{}}
	defer func() { c.finish(begun, request.Component, found) }()
	defer c.options.Panics.Catch(request.Log, func(err error) { found.err = fmt.Errorf("the generator failed with a %w", err) })
	ctx, found.reads = generating.TrackClusterReads(ctx)
	ctx, found.warnings = generating.TrackWarnings(ctx)
	found.objects, found.hooks, found.err = request.call(ctx, parameters)
	if found.err != nil && ctx.Err() != nil {
		found.err = fmt.Errorf("%w: %w", context.Cause(ctx), found.err)
	}
}

// finish ends a call.
func (c *Calls) finish(ended *call, component apitypes.NamespacedName, found answer) {
	c.options.Took(time.Since(ended.begun))
	c.mu.Lock()
	defer c.mu.Unlock()
	ended.answer = found
	close(ended.done)
	delete(c.current, component)
	if ended.left {
		c.options.Wake(component)
	}
}

// leave ends the wait for a call that was canceled, and returns what is waited for; nil if the call is done.
func (c *Calls) leave(canceled *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-canceled.done:
		return nil
	default:
	}
	if !canceled.left {
		canceled.after, canceled.left = time.Since(canceled.begun)-c.options.Patience, true
	}
	return &UnfinishedError{fmt.Sprintf("the generator was called at %s and canceled after %s, but has not returned; it will not be called again until it does; "+
		"if it takes that long, raise the timeout of the component",
		canceled.begun.UTC().Format(time.RFC3339), canceled.after.Round(time.Second))}
}
