// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// firstRetry and lastRetry are the first and the longest delay after a step with an error.
	firstRetry = 500 * time.Millisecond
	lastRetry  = 30 * time.Second
	// requestGrace is the time that requests under way have after the end of the context of Run.
	requestGrace = 5 * time.Second
)

// An Operation calls the engine for one owner until nothing is left to be done. It does not poll: between two steps it
// waits until a dependent changes, or until the engine has asked to be called again. It must not be used by several
// goroutines at the same time.
type Operation struct {
	// Engine and Owner, an ID, select the dependents whose changes wake the operation. Required.
	Engine *reconciler.Reconciler
	Owner  string
	// Call makes one call of the engine, such as Apply or Delete. Required.
	Call func(ctx context.Context) (reconciler.Result, error)
	// Enough reports whether the operation has succeeded although the result is not done. Defaults to no.
	Enough func(result reconciler.Result) bool
	// IsFinal reports whether the operation has failed because of an error that the engine considers worth a retry.
	// Defaults to no.
	IsFinal func(err error) bool
	// Stepped receives each state that is not the last one. Defaults to none.
	Stepped func(state State)

	woken chan struct{} // holds a token when something may have changed since the last call; nil before the first one
	delay time.Duration // after the next error
}

// State is the state of an operation after a step.
type State struct {
	// Phase is OperationRunning, OperationSucceeded or OperationFailed.
	Phase OperationPhase
	// Result is the result of the last step.
	Result reconciler.Result
	// Err is the error of the last step; nil if it had none. If the phase is OperationRunning, the step will be
	// repeated.
	Err error
	// RetryAfter is the delay before the next step if no dependent changes; zero if only a change makes a step
	// worthwhile.
	RetryAfter time.Duration
}

// Step makes one call of the engine. It does not wait for dependents. An operation has failed if a call has been
// refused, or if it could only wait for dependents that have failed. While on-failure hooks are under way, the
// operation is running.
func (o *Operation) Step(ctx context.Context) State {
	o.subscribe()
	result, err := o.Call(ctx)
	state := State{Phase: o.phaseAfter(result, err), Result: result, Err: err, RetryAfter: result.RequeueAfter}
	if err != nil {
		state.RetryAfter = o.backOff()
	} else {
		o.delay = firstRetry
	}
	return state
}

// backOff returns the delay after an error, and doubles the next one.
func (o *Operation) backOff() time.Duration {
	delay := o.delay
	o.delay = min(2*o.delay, lastRetry)
	return delay
}

// subscribe makes changes of dependents wake the operation.
func (o *Operation) subscribe() {
	if o.woken != nil {
		return
	}
	woken := make(chan struct{}, 1)
	o.woken, o.delay = woken, firstRetry
	o.Engine.Subscribe(o.Owner, func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
}

func (o *Operation) phaseAfter(result reconciler.Result, err error) OperationPhase {
	hooksGo := goes(result.Aftermath)
	switch {
	case err == nil && (result.Done && !hooksGo || o.Enough != nil && o.Enough(result)):
		return OperationSucceeded
	case hooksGo:
		return OperationRunning
	case err != nil && (IsFinal(err) || o.IsFinal != nil && o.IsFinal(err)) && !mustRecreate(result, err):
		return OperationFailed
	case err == nil && HasFailed(result):
		return OperationFailed
	default:
		return OperationRunning
	}
}

// goes reports whether on-failure hooks are under way, or will be tried again.
func goes(aftermath reconciler.Aftermath) bool {
	return aftermath.Goes() || aftermath.Problem != "" && !aftermath.Lasting
}

// mustRecreate reports whether dependents are being recreated while other objects are refused: if the operation ended
// now, they would not be created again.
func mustRecreate(result reconciler.Result, err error) bool {
	_, isRefused := errors.AsType[*reconciler.RefusedError](err)
	return isRefused && slices.ContainsFunc(result.Waits, func(notice reconciler.Notice) bool { return notice.Recreating })
}

// IsFinal reports whether it is useless to repeat a call of the engine after an error: the objects, or the permissions
// to write them, have to change first.
func IsFinal(err error) bool {
	_, isRefused := errors.AsType[*reconciler.RefusedError](err)
	_, isStale := errors.AsType[*reconciler.StaleError](err)
	_, isFenced := errors.AsType[*reconciler.FencedError](err)
	return isRefused || isStale || isFenced || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apiserver.IsRejected(err)
}

// HasFailed reports whether a call waits only for dependents that have failed, or cannot become ready for another
// reason.
func HasFailed(result reconciler.Result) bool {
	failed := make(map[types.ObjectID]bool, len(result.Failures))
	for _, notice := range result.Failures {
		failed[types.IDOf(notice.Object)] = true
	}
	mayBecomeReady := func(notice reconciler.Notice) bool { return !failed[types.IDOf(notice.Object)] && !notice.Doomed }
	return len(result.Waits) > 0 && !slices.ContainsFunc(result.Waits, mayBecomeReady)
}

// Wait waits until another step is worthwhile after one with the given state. The error is the cause of the context.
func (o *Operation) Wait(ctx context.Context, after State) error { return o.wait(ctx, after, nil) }

// wait is Wait, which also returns when the channel is closed.
func (o *Operation) wait(ctx context.Context, after State, enough <-chan struct{}) error {
	o.Engine.Follow()
	var over <-chan time.Time
	if after.RetryAfter > 0 {
		timer := time.NewTimer(after.RetryAfter)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-o.woken:
	case <-over:
	case <-enough:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Run makes steps until the operation has succeeded or failed. If the context ends earlier, Run waits some seconds for
// requests under way; Call must not begin any more writes. Then the error is the cause of the context, and State.Err
// that of the last step that was not cut short.
func (o *Operation) Run(ctx context.Context) (State, error) {
	working, stop := concurrent.ContextWithGrace(ctx, requestGrace)
	defer stop()
	var before error
	for {
		state := o.Step(working)
		switch {
		case state.Phase == OperationSucceeded:
			return state, nil
		case ctx.Err() != nil:
			state.Phase, state.Err = OperationRunning, before
			return state, context.Cause(ctx)
		case state.Phase.Completed():
			return state, nil
		}
		before = state.Err
		if o.Stepped != nil {
			o.Stepped(state)
		}
		if err := o.Wait(ctx, state); err != nil {
			return state, err
		}
	}
}

// call calls the engine. It repeats the call to pass on an approval, and to run SyncFail hooks after a failure that the
// engine does not count as one.
func (c *syncContext) call(ctx context.Context) (reconciler.Result, error) {
	if c.work.saveFirst && c.store != nil {
		if err := c.Save(ctx, c.work.request.Inventory); err != nil {
			return reconciler.Result{Inventory: c.work.request.Inventory}, err
		}
	}
	c.work.saveFirst = false
	result, err := c.applyOrFail(ctx)
	if c.store == nil {
		return result, err
	}
	// Results must not be lost by a failure, or by the end of the step.
	ctx, done := concurrent.ContextWithGrace(ctx, requestGrace)
	defer done()
	unsaved := c.Save(ctx, result.Inventory)
	_, isFenced := errors.AsType[*reconciler.FencedError](err)
	switch {
	case unsaved == nil || isFenced:
		return result, err
	case err == nil:
		return result, unsaved
	default:
		return result, fmt.Errorf("%w; before that: %s", unsaved, err.Error())
	}
}

// applyOrFail is call without the last save.
func (c *syncContext) applyOrFail(ctx context.Context) (reconciler.Result, error) {
	w := c.work
	result, err := w.apply(ctx, c.engine)
	if held := result.Held; err == nil && held != nil && held.Confirm && c.pruneConfirmed {
		w.request.Deletions.Approved = held.Digest
		result, err = w.again(ctx, c.engine, result)
	}
	isTold := result.Aftermath.Problem != "" || len(result.Aftermath.Waits) > 0 || w.request.Failed
	if fails(result, err) && !isTold && w.hasFailureHooks() {
		w.request.Failed = true
		result, err = w.again(ctx, c.engine, result)
	}
	return result, err
}

// fails reports whether an operation fails after a call.
func fails(result reconciler.Result, err error) bool {
	if _, isFenced := errors.AsType[*reconciler.FencedError](err); isFenced {
		return false
	}
	return err != nil && IsFinal(err) || err == nil && !result.Done && HasFailed(result)
}

func (w *work) apply(ctx context.Context, engine *reconciler.Reconciler) (reconciler.Result, error) {
	result, err := engine.Apply(ctx, w.request)
	w.request.Inventory = result.Inventory
	return result, err
}

// again calls the engine once more in the same step.
func (w *work) again(ctx context.Context, engine *reconciler.Reconciler, first reconciler.Result) (reconciler.Result, error) {
	result, err := w.apply(ctx, engine)
	result.Actions, result.Notes = slices.Concat(first.Actions, result.Actions), slices.Concat(first.Notes, result.Notes)
	return result, err
}

// hasFailureHooks reports whether there are SyncFail hooks.
func (w *work) hasFailureHooks() bool {
	for _, task := range w.tasks {
		if task.Phase == gitops.SyncFail {
			return true
		}
	}
	return false
}

// Save saves the inventory of the engine together with the spared dependents. It implements reconciler.Store.
func (c *syncContext) Save(ctx context.Context, inventory []*inventory.Item) error {
	if c.store == nil {
		return c.reported(inventory)
	}
	all := slices.Concat(c.work.spared, inventory)
	if reflect.DeepEqual(all, c.inventory) {
		return nil
	}
	if err := c.store.Save(ctx, all); err != nil {
		return fmt.Errorf("saving the inventory: %w", err)
	}
	c.inventory = all
	return nil
}

// errUnreported ends a step so that the caller can record that objects have completed, before they are deleted: without
// a store, only the results show it.
var errUnreported = errors.New("the results have changed")

// reported returns errUnreported if an object that must not run again has ended, and the results do not show it yet.
func (c *syncContext) reported(items []*inventory.Item) error {
	for _, item := range items {
		id := c.work.id(item)
		task, wanted := c.work.tasks[id]
		if !wanted || !runsOnce(task) || !c.work.begun(item, task) || outcome(item) == "" {
			continue
		}
		if result, _ := c.results.find(keyOf(id), SyncPhase(task.Phase)); !result.hasEnded() {
			return errUnreported
		}
	}
	return nil
}

// took updates the state after a step.
func (c *syncContext) took(ctx context.Context, state State) {
	if errors.Is(state.Err, errUnreported) {
		state.Phase, state.Err, state.RetryAfter = OperationRunning, nil, 1
	}
	postponed := c.learn(state)
	for _, action := range state.Result.Actions {
		for _, object := range action.Objects {
			c.log.Info("changed an object", "object", types.IDOf(object).String(), "verb", string(action.Verb), "wave", types.WaveText(action.Wave))
		}
	}
	fenced, _ := errors.AsType[*reconciler.FencedError](state.Err)
	switch {
	case fenced != nil && errors.Is(fenced.Reason, errTerminated):
		// Terminate goes on.
	case fenced != nil:
		c.endWith(ctx, OperationError, fenced.Reason.Error())
	case state.Phase.Successful() && c.results.hasFailed():
		c.fail(ctx, "SyncFail hooks have run because of an earlier failure")
	case state.Phase.Successful():
		c.set(OperationSucceeded, "everything is applied and healthy")
	case postponed:
		c.set(OperationRunning, c.results.failure(state)+"; waiting for hooks that are running")
	case state.Phase.Failed():
		c.fail(ctx, c.results.failure(state))
	default:
		c.set(OperationRunning, c.work.progress(state))
	}
}

// learn updates the results after a step. It reports whether a failed operation must wait for running hooks, whose
// outcomes would otherwise stay unknown.
func (c *syncContext) learn(state State) (postponed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.work.findings(state.Result)
	// If the call has ended before it has checked any object, so will the next one.
	hasLooked := state.Err == nil || len(state.Result.Errors) > 0
	postponed = state.Phase.Failed() && hasLooked && c.work.hookRuns(f, state.Result)
	if postponed {
		state.Phase = OperationRunning
	}
	c.results.collect(c.work, f, state)
	if state.Phase.Successful() {
		c.results.settle()
	}
	c.last = state
	return postponed
}

// fail ends an operation that has failed. If tidying up fails, the operation stays running, and another step tries
// again.
func (c *syncContext) fail(ctx context.Context, message string) {
	switch err := c.tidy(ctx); {
	case err != nil && IsFinal(err):
		message += "; " + err.Error()
	case err != nil:
		c.retry(err)
		c.set(OperationRunning, message+"; trying again after: "+err.Error())
		return
	}
	c.set(OperationFailed, message)
}
