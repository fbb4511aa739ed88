// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package generation calls generators, and reuses their results.
//
// # Contract
//
// The result of a pure generator is reused until one of its inputs changes, unless the generator has read from a
// cluster. The types of the cluster that it has looked up are inputs, too.
//
// A pass waits for the generator. A call that takes longer than a second is announced, and one that takes longer than
// the timeout of the component is canceled. If a canceled generator does not return, the pass ends and reports it. The
// generator is not called again before it returns, its return wakes the component, and its result is dropped.
package generation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// Memory has the last result for one component. Losing it costs a call of the generator. Only one pass uses it at a
// time. The zero value is ready for use.
type Memory struct {
	// result is the last one, if it may be reused.
	result *Result
	// readReason is the read from a cluster that keeps the last result from being reused; empty if there was none.
	readReason string
}

// Forget drops the last result.
func (m *Memory) Forget() { m.result = nil }

// Result is the result of a generator.
type Result struct {
	// Objects are the dependents, Hooks the deletion hooks.
	Objects []client.Object
	Hooks   []deletionhooks.Hook

	// Warnings are those of the generator and its objects.
	Warnings *generating.Warnings

	// key is empty if the result must not be used again.
	key string
	// discovery is the digest of the types of the cluster that the generator has looked up; empty if it has looked up
	// none.
	discovery string
}

// Version is equal for equal results; empty if the result cannot be compared.
func (r *Result) Version() string {
	if r.key == "" {
		return ""
	}
	return r.key + "/" + r.discovery
}

// isCurrent reports whether the types that the generator has looked up are unchanged.
func (r *Result) isCurrent(ctx context.Context) bool {
	if r.discovery == "" {
		return true
	}
	found, err := generator.DiscoveryFromContext(ctx)
	// If they cannot be read, the generator will report that.
	return err == nil && found.Digest == r.discovery
}

// Inputs are all inputs of a pure generator.
type Inputs struct {
	UID apitypes.UID `json:"uid"`
	// Digest of the declaration; it includes the fingerprint of the generator.
	Digest      string            `json:"digest"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	Revision    int64             `json:"revision"`
	Installed   bool              `json:"installed"`
	Target      string            `json:"target"`
	// Seed identifies the seed of generated secrets, and the time for which they are generated.
	Seed string `json:"seed"`
}

// Request describes the component to generate dependents for.
type Request struct {
	Component apitypes.NamespacedName
	Generator generator.Generator
	Inputs    Inputs
	// Timeout is the maximum duration of a call of the generator.
	Timeout time.Duration
	// Reconciler is the name of the reconciler, the prefix of its annotations.
	Reconciler string
	Scheme     *runtime.Scheme
	// Prepare returns the context and the parameters of the generator, which nothing else must change, even after the
	// pass. It is called only before a call of the generator.
	Prepare func() (context.Context, types.Unstructurable)
	// Slow is called once with a message if a call takes long.
	Slow func(message string)
	// LookedAtTypes is called after a call of the generator, with true if it has looked up types of the cluster.
	LookedAtTypes func(looked bool)
	Log           logr.Logger
}

// Generate returns the dependents and the deletion hooks. It fails with an UnfinishedError if a generator does not
// return.
func Generate(ctx context.Context, calls *Calls, memory *Memory, request Request) (*Result, error) {
	inputs, err := manifest.Digest(request.Inputs)
	if err != nil {
		return nil, err
	}
	isPure := Fingerprint(request.Generator) != ""
	if kept := memory.result; kept != nil && isPure && kept.key == inputs && kept.isCurrent(ctx) {
		return kept, nil
	}
	memory.result = nil
	answer, err := calls.answer(ctx, request)
	if err != nil {
		return nil, err
	}
	request.LookedAtTypes(answer.reads.Discovery() != "")
	memory.explain(request.Log, answer.reads.Reason())
	if answer.err != nil {
		return nil, answer.err
	}
	result := &Result{Objects: answer.objects, Hooks: answer.hooks, Warnings: answer.warnings, discovery: answer.reads.Discovery()}
	if isPure && !answer.reads.Any() {
		result.key, memory.result = inputs, result
	}
	return result, nil
}

// call calls the generator.
func (r Request) call(ctx context.Context, parameters types.Unstructurable) (objects []client.Object, hooks []deletionhooks.Hook, err error) {
	if objects, err = r.Generator.Generate(ctx, r.Inputs.Namespace, r.Inputs.Name, parameters); err != nil {
		return nil, nil, err
	}
	if len(objects) > chunks.MaxItems {
		// They could not be recorded. Each step before that makes copies.
		return nil, nil, inventory.NewRefusedError(fmt.Sprintf("the generator returns %d objects; at most %d are allowed", len(objects), chunks.MaxItems))
	}
	if err := clients.Normalize(objects); err != nil {
		return nil, nil, err
	}
	return deletionhooks.Split(objects, r.Reconciler, r.Scheme)
}

// explain logs once why the generator is called in each pass.
func (m *Memory) explain(log logr.Logger, reason string) {
	if reason == m.readReason {
		return
	}
	m.readReason = reason
	if reason != "" {
		log.V(1).Info("the manifests depend on the cluster, so each pass generates them", "reason", reason)
	}
}

// Fingerprint returns the fingerprint of a generator; empty for generators that are not pure.
func Fingerprint(g generator.Generator) string {
	if pure, ok := g.(generator.Pure); ok {
		return pure.Fingerprint()
	}
	return ""
}

// UnfinishedError means that a canceled generator has not returned. The component is woken when it returns.
type UnfinishedError struct{ message string }

// Error returns a message for users, with the times of the call.
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
// its Memory is lost. Calls are safe for concurrent use.
type Calls struct {
	options Options

	mu      sync.Mutex
	current map[apitypes.NamespacedName]*call
}

// NewCalls returns Calls without a call under way.
func NewCalls(options Options) *Calls {
	return &Calls{options: options, current: map[apitypes.NamespacedName]*call{}}
}

// call is one call of a generator.
type call struct {
	begun time.Time
	// done is closed when there is an answer.
	done   chan struct{}
	answer answer

	// The mutex of Calls protects the fields below. left means that a pass has stopped waiting for the call, which was
	// canceled after that time.
	after time.Duration
	left  bool
}

// answer is the result of a call.
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

// leave ends the wait for a canceled call, and returns an UnfinishedError; nil if the call is done.
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

// Error is a panic that was caught.
type Error struct{ *concurrent.Panic }

// Error returns value and place. The value may be an error of the API server, which quotes rejected values.
func (e *Error) Error() string { return fmt.Sprintf("panic: %s (%s)", e.text(), e.Place) }

// maxText is the maximum length of the text of a value, in bytes.
const maxText = 2000

func (e *Error) text() string { return texts.Truncate(texts.Text(fmt.Sprint(e.Value)), maxText) }

// Is reports whether an error is, or wraps, a panic.
func Is(err error) bool {
	_, is := errors.AsType[*Error](err)
	return is
}

// Catcher catches panics. It is safe for concurrent use. The zero value is ready for use.
type Catcher struct {
	// Count is called for each panic.
	Count func()

	// logged has the places whose stack has been logged.
	logged sync.Map
}

// Catch catches a panic of the function that defers it. It must be deferred directly. After a panic, it calls use.
func (c *Catcher) Catch(log logr.Logger, use func(err error)) {
	value := recover()
	if value == nil {
		return
	}
	caught := &Error{concurrent.NewPanic(value)}
	if c.Count != nil {
		c.Count()
	}
	if _, known := c.logged.LoadOrStore(caught.Place, true); !known {
		log.Error(nil, "panic during the reconciliation", "reason", caught.text(), "place", caught.Place, "stack", string(caught.Stack))
	}
	use(caught)
}

// Run does work. A panic becomes an error.
func (c *Catcher) Run(log logr.Logger, work func() error) (err error) {
	defer c.Catch(log, func(reason error) { err = reason })
	return work()
}
