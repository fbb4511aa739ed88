// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/inspect"
	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	purgeOrderKey     = releases.ReconcilerName + "/" + types.AnnotationKeySuffixPurgeOrder
	purgeOnFailureKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixPurgeOnFailure
	statusHintKey     = releases.ReconcilerName + "/" + types.AnnotationKeySuffixStatusHint
)

// testObjects returns what is applied for tests. They are not purged while they run, because their logs are read before.
func testObjects(tests []*unstructured.Unstructured) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, len(tests))
	for i, test := range tests {
		object := test.DeepCopy()
		values := object.GetAnnotations()
		if values == nil {
			values = map[string]string{}
		}
		delete(values, purgeOrderKey)
		delete(values, purgeOnFailureKey)
		if _, given := values[statusHintKey]; !given && object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Pod"}) {
			values[statusHintKey] = types.StatusHintRunToCompletion
		}
		object.SetAnnotations(values)
		objects[i] = object
	}
	return objects
}

// goes tells whether the object of a test is removed at the end of the run.
func (r *TestRun) goes(result TestResult) bool {
	at := slices.IndexFunc(r.tests, func(test *unstructured.Unstructured) bool { return r.makes(test, result.item) })
	if at < 0 {
		return false
	}
	values := r.tests[at].GetAnnotations()
	_, afterSuccess := values[purgeOrderKey]
	afterFailure, _ := annotations.Flag(values[purgeOnFailureKey])
	return afterSuccess && result.State == TestPassed || afterFailure && result.State == TestFailed
}

// makes tells whether a test is the object of an item.
func (r *TestRun) makes(test *unstructured.Unstructured, item *reconciler.InventoryItem) bool {
	return item != nil && test.GroupVersionKind().GroupKind() == item.GroupVersionKind().GroupKind() && test.GetName() == item.Name &&
		(test.GetNamespace() == item.Namespace || test.GetNamespace() == "" && item.Namespace == r.release.Namespace)
}

// judge tells how the tests have ended, in the order of their waves.
func (r *TestRun) judge(result reconciler.Result) []TestResult {
	failed, waits := notices(result.Failures), notices(result.Waits)
	results := make([]TestResult, 0, len(r.tests))
	for _, test := range r.tests {
		judged := TestResult{Test: progress.KeyOf(test), State: TestNotRun}
		if at := slices.IndexFunc(result.Inventory, func(item *reconciler.InventoryItem) bool { return r.makes(test, item) }); at >= 0 {
			item := result.Inventory[at]
			judged.item, judged.Test = item, progress.KeyOf(item)
			text := objectText(item)
			switch {
			case failed[text] != "":
				judged.State, judged.Message = TestFailed, failed[text]
			case waits[text] != "":
				judged.State, judged.Message = TestUnfinished, waits[text]
			case item.Phase == reconciler.PhaseReady:
				judged.State = TestPassed
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
	// explainTimeout bounds how long it may take to find out why tests have not passed.
	explainTimeout = 30 * time.Second
	// lastLines is how much is read of the log of each container of a test that has not passed.
	lastLines = 10
)

// explain adds reasons and logs. What cannot be read is missing.
func (r *TestRun) explain(ctx context.Context, results []TestResult) {
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	for i := range results {
		result := &results[i]
		unsuccessful := result.State == TestFailed || result.State == TestUnfinished
		if result.item == nil || !unsuccessful && (!r.request.AllLogs || result.State != TestPassed) {
			continue
		}
		options := r.Inspection(r.release, []*reconciler.InventoryItem{result.item})
		options.Selector = ownedBy(r.target.owner)
		if unsuccessful {
			if report, err := inspect.Tree(ctx, options); err == nil {
				result.Why = reasons(report.Nodes)
			}
		}
		var text bytes.Buffer
		logs := inspect.LogOptions{Options: options, Problem: func(problem string) { fmt.Fprintln(&text, problem) }}
		if !r.request.AllLogs {
			logs.Tail = new(int64(lastLines))
		}
		if err := inspect.Logs(ctx, logs, &text); err != nil && text.Len() == 0 {
			fmt.Fprintln(&text, err)
		}
		result.Log = strings.TrimSuffix(text.String(), "\n")
	}
}

// reasons returns those of the nodes or, if these have none, of what they own.
func reasons(nodes []*inspect.Node) []inspect.Reason {
	var found []inspect.Reason
	for _, node := range nodes {
		if len(node.Why) > 0 {
			found = append(found, node.Why...)
		} else {
			found = append(found, reasons(node.Children)...)
		}
	}
	return found
}

// removeTests removes what runs of tests have left, except what stays. Defaults to everything.
func (o *operation) removeTests(ctx context.Context, t *target, timeout time.Duration, stays func(item *reconciler.InventoryItem) bool) error {
	var kept, gone []*reconciler.InventoryItem
	for _, item := range o.release.TestInventory {
		if stays != nil && stays(item) {
			kept = append(kept, item)
		} else {
			gone = append(gone, item)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	t.seen = o.board.seen
	o.board.expect(gone, applyOrder)
	o.board.say("removing tests")
	c := &convergence{
		target:  t,
		timeout: timeout,
		call: func(ctx context.Context) (reconciler.Result, error) {
			owner := o.testOwner(ctx, t, kept)
			owner.Inventory = gone
			result, err := t.engine.Delete(ctx, reconciler.DeleteRequest{Owner: owner})
			gone = result.Inventory
			o.release.TestInventory = slices.Concat(kept, gone)
			return result, err
		},
		took: func(result reconciler.Result, err error) { o.board.took(result, err, "removing tests") },
	}
	result, err := c.run(ctx)
	o.board.took(result, nil, "")
	if err != nil {
		return err
	}
	return o.record(ctx, func(release *releases.Release) { release.TestInventory = kept })
}

// testOwner is the release as owner of its tests. Some of these may be kept whatever is done about the others.
func (o *operation) testOwner(ctx context.Context, t *target, kept []*reconciler.InventoryItem) reconciler.Owner {
	return reconciler.Owner{ID: t.owner, Namespace: o.release.Namespace, Home: []string{o.release.Namespace}, Store: &testStore{operation: o, kept: kept}, Fence: o.fence(ctx)}
}

// testStore records the inventory of tests.
type testStore struct {
	*operation

	kept []*reconciler.InventoryItem
}

// Save records the inventory, and what is kept besides.
func (t *testStore) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	if err := t.lock.Fence(ctx); err != nil {
		return err
	}
	t.release.TestInventory = slices.Concat(t.kept, inventory)
	return t.records.Save(ctx, t.release)
}

// deleteTests removes what tests have left before the release is deleted. They may be instances of types of the release, and hide that there are
// foreign ones; so that is looked at again.
func (o *operation) deleteTests(ctx context.Context, d *Deletion, limits Limits) error {
	t, err := o.target(releases.TestOwnerID(o.release.Namespace, o.release.Name), o.release.TestInventory)
	if err != nil {
		return err
	}
	defer t.close()
	if err := o.removeTests(ctx, t, limits.Timeout, nil); err != nil {
		return err
	}
	d.Blockers, err = d.target.engine.CheckDeletion(ctx, reconciler.DeleteRequest{Owner: reconciler.Owner{ID: d.target.owner, Inventory: o.release.Inventory}})
	if err != nil {
		return err
	}
	return d.Blocked()
}
