// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	purgeOrderKey     = releases.ReconcilerName + "/" + types.AnnotationKeySuffixPurgeOrder
	purgeOnFailureKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixPurgeOnFailure
	statusHintKey     = releases.ReconcilerName + "/" + types.AnnotationKeySuffixStatusHint
)

// testObjects returns the objects of the tests. They are not purged during the run, because their logs are read first.
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

// isRemoved reports whether the object of a test is deleted at the end of the run.
func (r *TestRun) isRemoved(result TestResult) bool {
	at := slices.IndexFunc(r.tests, func(test *unstructured.Unstructured) bool { return r.isItemOf(test, result.item) })
	if at < 0 {
		return false
	}
	values := r.tests[at].GetAnnotations()
	_, afterSuccess := values[purgeOrderKey]
	afterFailure, _ := annotations.Flag(values[purgeOnFailureKey])
	return afterSuccess && result.State == Passed || afterFailure && result.State == Failed
}

// isItemOf reports whether the item is that of the test.
func (r *TestRun) isItemOf(test *unstructured.Unstructured, item *reconciler.InventoryItem) bool {
	return item != nil && test.GroupVersionKind().GroupKind() == item.GroupVersionKind().GroupKind() && test.GetName() == item.Name &&
		(test.GetNamespace() == item.Namespace || test.GetNamespace() == "" && item.Namespace == r.Release.Namespace)
}

// judge returns the results of the tests, in the order of their waves.
func (r *TestRun) judge(result reconciler.Result) []TestResult {
	failed, waits := releases.Messages(result.Failures), releases.Messages(result.Waits)
	results := make([]TestResult, 0, len(r.tests))
	for _, test := range r.tests {
		judged := TestResult{Test: display.ObjectOf(test), State: NotRun}
		if at := slices.IndexFunc(result.Inventory, func(item *reconciler.InventoryItem) bool { return r.isItemOf(test, item) }); at >= 0 {
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
