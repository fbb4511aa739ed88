// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// TestRequest specifies which tests of a release to run.
type TestRequest struct {
	runner.Limits

	// Namespace and Name of the release.
	Namespace, Name string
	// Only are the names of the tests to run. Defaults to all.
	Only []string
	// Except are the names of tests to skip.
	Except []string
	// AllLogs reads the complete logs of all tests. Defaults to the last lines of tests that have not passed.
	AllLogs bool
}

// TestState is the outcome of a test.
type TestState string

const (
	// Passed means that the test has completed, or is ready if it is of a kind that does not complete.
	Passed TestState = "Passed"
	// Failed means that the test has failed.
	Failed TestState = "Failed"
	// Unfinished means that the test was started, and has neither passed nor failed.
	Unfinished TestState = "Unfinished"
	// NotRun means that the test was not started, because tests of an earlier wave have not passed.
	NotRun TestState = "NotRun"
)

// TestResult is the outcome of a test.
type TestResult struct {
	// Test is the test's object.
	Test display.Object
	// State is the state of the test when the run ended.
	State TestState
	// Message explains the state; empty if the test has passed.
	Message string
	// Why lists the reasons that the test has not passed, the most specific first.
	Why []display.Reason
	// Log is the output of the test's containers, each line preceded by pod and container, or the error of reading it.
	Log string

	hook *unstructured.Unstructured
	item *reconciler.InventoryItem
}

// TestRun is one run of tests.
type TestRun struct {
	// Release is the release as it was read.
	Release *releases.Release

	connection *runner.Connection
	request    TestRequest
	tests      []*unstructured.Unstructured
	// target and operation are set when the run starts.
	target    *runner.Target
	operation *runner.Operation
	// kept are items that stay in the inventory, in addition to those of Save.
	kept []*reconciler.InventoryItem
}

// PlanTests determines the tests of a release: the objects of its current revision that are applied for a test run
// only.
func PlanTests(ctx context.Context, c *runner.Connection, request TestRequest) (*TestRun, error) {
	release, err := c.Release(ctx, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	if release.State == releases.StateDeleting {
		return nil, releases.BeingDeleted(release)
	}
	run := &TestRun{Release: release, connection: c, request: request}
	run.tests, err = testsOf(ctx, c.Records(), release, request)
	return run, err
}

// Execute runs the tests wave by wave. A wave begins when the one before has passed. Execute first deletes the objects
// of the last run. It leaves those of this run, unless their policies say otherwise. The error is a NotReadyError if
// not all tests have passed; the results are valid in that case, too. Other errors are those of Apply. Without tests,
// it does nothing.
func (r *TestRun) Execute(ctx context.Context) ([]TestResult, error) {
	if len(r.tests) == 0 {
		return nil, nil
	}
	b := runner.NewBoard(r.connection, "test", r.Release.String(), 0)
	results, err := r.underLock(ctx, b)
	err = runner.Interrupted(ctx, err)
	b.Finish(tested(r.Release, results, err), err)
	return results, err
}

func tested(release *releases.Release, results []TestResult, err error) display.Outcome {
	passed := 0
	for _, result := range results {
		if result.State == Passed {
			passed++
		}
	}
	counts := fmt.Sprintf("release %s: %d of %d tests passed", release, passed, len(results))
	notReady, isNotReady := errors.AsType[*releases.NotReadyError](err)
	switch {
	case err == nil:
		return display.Outcome{Done: true, Summary: counts}
	case len(results) == 0 || !isNotReady:
		return display.Outcome{Summary: fmt.Sprintf("release %s was not tested: %s", release, releases.Summary(err))}
	case notReady.Timeout > 0 || err.Error() != notReady.Error():
		return display.Outcome{Summary: counts + "; " + releases.Summary(err)}
	default:
		return display.Outcome{Summary: counts}
	}
}

// testsOf returns the tests to run.
func testsOf(ctx context.Context, records *releases.Store, release *releases.Release, request TestRequest) ([]*unstructured.Unstructured, error) {
	current := release.Current()
	if current == nil {
		return nil, releases.Refused("release %s has no revisions", release)
	}
	content, err := records.Content(ctx, release, current.Number)
	if err != nil {
		return nil, err
	}
	tests := ManifestHooks(content.Manifest, types.ReleaseHookTest)
	names := display.Map(tests, (*unstructured.Unstructured).GetName)
	for _, name := range slices.Concat(request.Only, request.Except) {
		switch {
		case len(names) == 0:
			return nil, fmt.Errorf("release %s has no test %q, and no other tests", release, name)
		case !slices.Contains(names, name):
			return nil, fmt.Errorf("release %s has no test %q; its tests are: %s", release, name, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(tests, func(test *unstructured.Unstructured) bool {
		return len(request.Only) > 0 && !slices.Contains(request.Only, test.GetName()) || slices.Contains(request.Except, test.GetName())
	}), nil
}

// underLock runs the tests if the release has not changed since they were planned.
func (r *TestRun) underLock(ctx context.Context, b *runner.Board) ([]TestResult, error) {
	o, done, err := runner.Begin(ctx, r.connection, r.Release, b, r.request.Limits)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := o.ConfirmUnchanged(ctx); err != nil {
		return nil, err
	}
	ctx, stop := o.WatchLock(ctx)
	defer stop()
	r.operation = o
	if err := r.begin(); err != nil {
		return nil, err
	}
	defer r.target.Close()
	return r.run(ctx)
}

// begin starts to watch the objects of tests.
func (r *TestRun) begin() (err error) {
	r.target, err = runner.NewTarget(r.connection, releases.TestOwnerID(r.Release.Namespace, r.Release.Name), r.Release.TestInventory)
	return err
}

// run runs the tests, determines the results, and deletes objects according to their policies.
func (r *TestRun) run(ctx context.Context) ([]TestResult, error) {
	limited, stop := runner.Limited(ctx, r.request.Timeout)
	defer stop()
	if err := r.remove(limited, nil); err != nil {
		return nil, fmt.Errorf("deleting the objects of the last run: %w", err)
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
		return !slices.ContainsFunc(results, func(result TestResult) bool { return result.item == item && result.isRemoved() })
	}
	return results, errors.Join(failure, r.remove(limited, stays))
}

// apply applies the tests until all have passed, or no further one can pass.
func (r *TestRun) apply(ctx context.Context) (reconciler.Result, error) {
	request := reconciler.ApplyRequest{
		Owner:    r.owner(ctx),
		Objects:  ManifestObjects(testObjects(r.tests)),
		Policies: r.Release.Current().Policies,
	}
	// Never adopt existing objects: the next run would delete them.
	request.Policies.Adoption = reconciler.AdoptionPolicyNever
	const phase = "running tests"
	c := &runner.Convergence{
		Target: r.target, Board: r.operation.Board(), Timeout: r.request.Timeout, Start: phase, Phase: func(reconciler.Result) string { return phase },
		Call: func(ctx context.Context) (reconciler.Result, error) {
			request.Inventory = r.Release.TestInventory
			result, err := r.target.Engine().Apply(ctx, request)
			r.Release.TestInventory = result.Inventory
			r.operation.Board().Expect(result.Inventory)
			return result, err
		},
	}
	result, err := c.Run(ctx)
	return result, errors.Join(err, r.operation.Record(ctx, func(release *releases.Release) { release.TestInventory = result.Inventory }))
}

const (
	purgeOrderKey     = releases.ReconcilerName + "/" + types.AnnotationKeySuffixPurgeOrder
	purgeOnFailureKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixPurgeOnFailure
	statusHintKey     = releases.ReconcilerName + "/" + types.AnnotationKeySuffixStatusHint
)

// testObjects returns the objects of the tests. They are not purged during the run, because their logs are read first.
func testObjects(tests []*unstructured.Unstructured) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, len(tests))
	for i, test := range tests {
		further := map[string]string{}
		if _, given := test.GetAnnotations()[statusHintKey]; !given && test.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Pod"}) {
			further[statusHintKey] = types.StatusHintRunToCompletion
		}
		objects[i] = annotated(test, further)
		unstructured.RemoveNestedField(objects[i].Object, "metadata", "annotations", purgeOrderKey)
		unstructured.RemoveNestedField(objects[i].Object, "metadata", "annotations", purgeOnFailureKey)
	}
	return objects
}

// isRemoved reports whether the object of a test is deleted at the end of the run.
func (r TestResult) isRemoved() bool {
	values := r.hook.GetAnnotations()
	_, afterSuccess := values[purgeOrderKey]
	afterFailure, _ := annotations.Flag(values[purgeOnFailureKey])
	return afterSuccess && r.State == Passed || afterFailure && r.State == Failed
}

// judge returns the results of the tests, in the order of their waves.
func (r *TestRun) judge(result reconciler.Result) []TestResult {
	failed, waits := releases.Messages(result.Failures), releases.Messages(result.Waits)
	results := make([]TestResult, 0, len(r.tests))
	for _, test := range r.tests {
		judged := TestResult{Test: display.ObjectOf(test), State: NotRun, hook: test}
		isOfTest := func(item *reconciler.InventoryItem) bool {
			return keyIn(r.Release.Namespace, item) == keyIn(r.Release.Namespace, test)
		}
		if at := slices.IndexFunc(result.Inventory, isOfTest); at >= 0 {
			item := result.Inventory[at]
			judged.item, judged.Test = item, display.ObjectOf(item)
			key := display.KeyOf(item)
			switch {
			case failed[key] != "":
				judged.State, judged.Message = Failed, failed[key]
			case waits[key] != "":
				judged.State, judged.Message = Unfinished, waits[key]
			case item.Phase == reconciler.PhaseReady:
				judged.State = Passed
			}
		}
		results = append(results, judged)
	}
	slices.SortStableFunc(results, func(a, b TestResult) int { return orderOf(a.item) - orderOf(b.item) })
	return results
}

func orderOf(item *reconciler.InventoryItem) int {
	if item == nil {
		return types.MaxOrder
	}
	return item.ApplyOrder
}

const (
	// explainTimeout limits how long to look for the reasons why tests have not passed.
	explainTimeout = 30 * time.Second
	// lastLines is the number of log lines that are read of each container of a test that has not passed.
	lastLines = 10
)

// explain adds reasons and logs, as far as they can be read.
func (r *TestRun) explain(ctx context.Context, results []TestResult) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	for i := range results {
		result := &results[i]
		unsuccessful := result.State == Failed || result.State == Unfinished
		if result.item == nil || !unsuccessful && (!r.request.AllLogs || result.State != Passed) {
			continue
		}
		options := views.Inspection(r.connection, r.Release, []*reconciler.InventoryItem{result.item})
		options.Selector = releases.OwnerSelector(r.target.Owner())
		if unsuccessful {
			if report, err := live.Tree(ctx, options); err == nil {
				result.Why = reasons(report.Nodes)
			}
		}
		var text bytes.Buffer
		logs := live.LogOptions{Options: options, Problem: func(problem string) { fmt.Fprintln(&text, problem) }}
		if !r.request.AllLogs {
			logs.Tail = new(int64(lastLines))
		}
		if err := live.Logs(ctx, logs, &text); err != nil && text.Len() == 0 {
			fmt.Fprintln(&text, err)
		}
		result.Log = strings.TrimSuffix(text.String(), "\n")
	}
}

// reasons returns the reasons of the nodes or, if they have none, of the objects that they own.
func reasons(nodes []*display.Node) []display.Reason {
	var found []display.Reason
	for _, node := range nodes {
		if len(node.Why) > 0 {
			found = append(found, node.Why...)
		} else {
			found = append(found, reasons(node.Children)...)
		}
	}
	return found
}

// remove deletes the objects of tests, except those for which stays returns true; nil deletes all.
func (r *TestRun) remove(ctx context.Context, stays func(item *reconciler.InventoryItem) bool) error {
	var gone []*reconciler.InventoryItem
	for _, item := range r.Release.TestInventory {
		if stays != nil && stays(item) {
			r.kept = append(r.kept, item)
		} else {
			gone = append(gone, item)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	r.operation.Board().Expect(gone)
	const phase = "deleting test objects"
	c := &runner.Convergence{
		Target: r.target, Board: r.operation.Board(), Timeout: r.request.Timeout, Start: phase, Phase: func(reconciler.Result) string { return phase },
		Call: func(ctx context.Context) (reconciler.Result, error) {
			owner := r.owner(ctx)
			owner.Inventory = gone
			result, err := r.target.Engine().Delete(ctx, reconciler.DeleteRequest{Owner: owner, Unasked: true})
			gone = result.Inventory
			r.Release.TestInventory = slices.Concat(r.kept, gone)
			return result, err
		},
	}
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	return r.operation.Record(ctx, func(release *releases.Release) { release.TestInventory = r.kept })
}

// owner returns the release as the owner of its tests.
func (r *TestRun) owner(ctx context.Context) reconciler.Owner {
	owner := ownerOf(r.target, r.Release)
	owner.Inventory, owner.Store, owner.Fence = r.Release.TestInventory, r, r.operation.Fence(ctx)
	return owner
}

// Save records the inventory of tests, and the kept items. It makes the run the store of the engine.
func (r *TestRun) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	if err := r.operation.CheckLock(ctx); err != nil {
		return err
	}
	r.Release.TestInventory = slices.Concat(r.kept, inventory)
	return r.connection.Records().Save(ctx, r.Release)
}
