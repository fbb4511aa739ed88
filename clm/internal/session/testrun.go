// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/inspect"
	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// TestRequest says which tests of a release are to be run.
type TestRequest struct {
	Limits

	// Namespace and Name of the release.
	Namespace, Name string
	// Only are the names of the tests to be run. Defaults to all.
	Only []string
	// Except are the names of tests that are left out.
	Except []string
	// AllLogs has the logs of all tests read from their beginning; otherwise it is the last lines of those that have not passed.
	AllLogs bool
}

// TestState is how a test has ended.
type TestState string

const (
	// TestPassed means that the test was completed, or is ready if it is nothing that completes.
	TestPassed TestState = "Passed"
	// TestFailed means that the test has failed.
	TestFailed TestState = "Failed"
	// TestUnfinished means that the test was begun, and has neither passed nor failed.
	TestUnfinished TestState = "Unfinished"
	// TestNotRun means that the test was not begun, because others before it have not passed.
	TestNotRun TestState = "NotRun"
)

// TestResult says what came out of a test.
type TestResult struct {
	// Test is the object that makes the test.
	Test progress.Key
	// State of the test when the run ended.
	State TestState
	// Message says more about the state; empty if the test has passed.
	Message string
	// Why says what keeps the test from passing, the most specific reason first.
	Why []inspect.Reason
	// Log is what containers of the test have written, each line preceded by pod and container; or why that cannot be read.
	Log string

	item *reconciler.InventoryItem
}

// TestRun is one run of tests.
type TestRun struct {
	// Release as it was found.
	Release *releases.Release

	request TestRequest
	tests   []*unstructured.Unstructured
	target  *target
	*operation
}

// PlanTest finds out which tests a release has: the objects of its current revision that are applied for that purpose.
func (s *Session) PlanTest(ctx context.Context, request TestRequest) (*TestRun, error) {
	release, err := s.Release(ctx, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	if release.State == releases.StateDeleting {
		return nil, beingDeleted(release)
	}
	run := &TestRun{Release: release, request: request}
	run.tests, err = s.tests(ctx, release, request)
	return run, err
}

// Empty tells whether there are no tests to be run.
func (r *TestRun) Empty() bool { return len(r.tests) == 0 }

// Test runs tests, in their waves. A wave begins when the one before has passed. What the last run has left is removed before; this one leaves
// its objects behind, except those whose policies say otherwise. The error is a NotReadyError if not all have passed; there are
// results in that case, too. Other errors are those of Apply.
func (s *Session) Test(ctx context.Context, run *TestRun) ([]TestResult, error) {
	b := newBoard(s, "test", run.Release.String())
	results, err := s.test(ctx, run, b)
	b.finish(tested(run.Release, results, err), err)
	return results, err
}

func tested(release *releases.Release, results []TestResult, err error) progress.Outcome {
	passed := 0
	for _, result := range results {
		if result.State == TestPassed {
			passed++
		}
	}
	counts := fmt.Sprintf("release %s: %d of %d tests passed", release, passed, len(results))
	var notReady *NotReadyError
	switch {
	case err == nil:
		return progress.Outcome{Done: true, Summary: counts}
	case len(results) == 0 || !errors.As(err, &notReady):
		return progress.Outcome{Summary: fmt.Sprintf("release %s is not tested: %s", release, summaryOf(err))}
	case notReady.Timeout > 0:
		return progress.Outcome{Summary: counts + "; " + summaryOf(err)}
	default:
		return progress.Outcome{Summary: counts}
	}
}

// tests returns the tests that are to be run.
func (s *Session) tests(ctx context.Context, release *releases.Release, request TestRequest) ([]*unstructured.Unstructured, error) {
	current := release.Current()
	if current == nil {
		return nil, refused("release %s has no revisions", release)
	}
	content, err := s.records.Content(ctx, release, current.Number)
	if err != nil {
		return nil, err
	}
	tests := releaseHooks(content.Manifest, types.ReleaseHookTest)
	names := make([]string, len(tests))
	for i, test := range tests {
		names[i] = test.GetName()
	}
	for _, name := range slices.Concat(request.Only, request.Except) {
		switch {
		case len(names) == 0:
			return nil, fmt.Errorf("release %s has no test %q, nor any other", release, name)
		case !slices.Contains(names, name):
			return nil, fmt.Errorf("release %s has no test %q; its tests are: %s", release, name, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(tests, func(test *unstructured.Unstructured) bool {
		return len(request.Only) > 0 && !slices.Contains(request.Only, test.GetName()) || slices.Contains(request.Except, test.GetName())
	}), nil
}

func (s *Session) test(ctx context.Context, run *TestRun, b *board) ([]TestResult, error) {
	o, done, err := s.begin(ctx, run.Release, b, run.request.Limits)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := o.confirmUnchanged(ctx); err != nil {
		return nil, err
	}
	ctx, stop := o.watchLock(ctx)
	defer stop()
	run.operation = o
	if run.target, err = s.target(releases.TestOwnerID(run.Release.Namespace, run.Release.Name), run.Release.TestInventory); err != nil {
		return nil, err
	}
	defer run.target.close()
	return run.run(ctx)
}

// run runs the tests, finds out what came out of them, and removes what is not to stay.
func (r *TestRun) run(ctx context.Context) ([]TestResult, error) {
	limited, stop := limited(ctx, r.request.Timeout)
	defer stop()
	if err := r.removeTests(limited, r.target, r.request.Timeout, nil); err != nil {
		return nil, fmt.Errorf("removing what the last run has left: %w", err)
	}
	result, failure := r.apply(limited)
	results := r.judge(result)
	if ctx.Err() == nil {
		r.explain(ctx, results)
	}
	if limited.Err() != nil {
		return results, failure
	}
	stays := func(item *reconciler.InventoryItem) bool {
		return !slices.ContainsFunc(results, func(result TestResult) bool { return result.item == item && r.goes(result) })
	}
	return results, errors.Join(failure, r.removeTests(limited, r.target, r.request.Timeout, stays))
}

// apply applies the tests until all have passed, or no more will.
func (r *TestRun) apply(ctx context.Context) (reconciler.Result, error) {
	request := reconciler.ApplyRequest{
		Owner:    r.testOwner(ctx, r.target, nil),
		Objects:  asObjects(testObjects(r.tests)),
		Policies: r.release.Current().Policies,
	}
	// What is there already would be gone after the next run.
	request.Policies.Adoption = reconciler.AdoptionPolicyNever
	r.board.say("running tests")
	c := &convergence{
		target:  r.target,
		timeout: r.request.Timeout,
		call: func(ctx context.Context) (reconciler.Result, error) {
			request.Inventory = r.release.TestInventory
			result, err := r.target.engine.Apply(ctx, request)
			r.release.TestInventory = result.Inventory
			r.board.expect(result.Inventory, applyOrder)
			return result, err
		},
		took: func(result reconciler.Result, err error) { r.board.took(result, err, "running tests") },
	}
	result, err := c.run(ctx)
	r.board.took(result, nil, "")
	return result, errors.Join(err, r.record(ctx, func(release *releases.Release) { release.TestInventory = result.Inventory }))
}
