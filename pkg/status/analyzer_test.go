// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/status"
)

func ExampleNewAnalyzer() {
	analyzer := status.NewAnalyzer("operator.example.io", status.Options{})
	result, err := analyzer.Analyze(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1",
		"kind":       "Job",
		"status":     map[string]any{"startTime": "2026-01-01T00:00:00Z", "active": int64(1)},
	}}, status.Hints{})
	fmt.Println(result.Status, "-", result.Message, err)
	// Output: InProgress - running: 0/1 succeeded, 1 active <nil>
}

func ExampleNewStatusAnalyzer() {
	analyzer := status.NewStatusAnalyzer("operator.example.io")
	verdict, err := analyzer.ComputeStatus(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.io/v1",
		"kind":       "Thing",
		"metadata": map[string]any{
			"annotations": map[string]any{"operator.example.io/status-hint": "has-ready-condition"},
		},
	}})
	fmt.Println(verdict, err)
	// Output: InProgress <nil>
}

func TestAnnotatedHints(t *testing.T) {
	t.Parallel()
	analyzer := status.NewAnalyzer(reconcilerName, status.Options{})

	object := parse(t, `{apiVersion: example.io/v1, kind: Thing, metadata: {name: x, annotations: {operator.example.io/status-hint: conditions=Synced}}}`)
	got, err := analyzer.AnalyzeAnnotated(object)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, got, status.Result{Status: status.InProgressStatus, Message: "condition Synced is missing"})

	object = parse(t, `{apiVersion: example.io/v1, kind: Thing, metadata: {namespace: default, name: x, annotations: {operator.example.io/status-hint: nonsense}}}`)
	got, err = analyzer.AnalyzeAnnotated(object)
	if err == nil || got.Status != status.UnknownStatus {
		t.Fatalf("got %v and error %v", got, err)
	}
	for _, part := range []string{"operator.example.io/status-hint", "Thing.example.io default/x", "nonsense", "has-ready-condition"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not name %s: %v", part, err)
		}
	}
}

type fixed struct {
	status status.Status
	err    error
}

func (f fixed) ComputeStatus(object *unstructured.Unstructured) (status.Status, error) {
	object.SetName("changed")
	return f.status, f.err
}

func TestAdapt(t *testing.T) {
	t.Parallel()
	object := parse(t, `{apiVersion: batch/v1, kind: Job, status: {startTime: "2026-01-01T00:00:00Z"}}`)
	tests := []struct {
		reason string
		custom fixed
		want   status.Result
	}{
		{
			"where both agree there is something to say",
			fixed{status: status.InProgressStatus},
			status.Result{Status: status.InProgressStatus, Message: "running: 0/1 succeeded, 0 active"},
		},
		{"the given analyzer has the last word", fixed{status: status.CurrentStatus}, status.Result{Status: status.CurrentStatus, Message: "ready"}},
		{"its error is reported", fixed{err: errors.New("broken")}, status.Result{Status: status.UnknownStatus, Message: "broken"}},
		{"it may invent a status", fixed{status: "Sleeping"}, status.Result{Status: "Sleeping", Message: "status Sleeping"}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			before := object.DeepCopy()
			got, err := status.Adapt(reconcilerName, test.custom).Analyze(object, status.Hints{})
			if !errors.Is(err, test.custom.err) {
				t.Errorf("got error %v, want %v", err, test.custom.err)
			}
			diff(t, got, test.want)
			diff(t, object, before)
		})
	}

	own := status.NewAnalyzer(reconcilerName, status.Options{})
	if status.Adapt(reconcilerName, own) != own {
		t.Error("an Analyzer needs no adaption")
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, seed := range []string{
		`{"apiVersion":"v1","kind":"Pod","status":{"phase":"Running","containerStatuses":[{"name":1}]}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"generation":1},"status":{"conditions":[{"type":"Progressing"}]}}`,
		`{"apiVersion":"batch/v1","kind":"Job","spec":"x","status":{"conditions":[1,null,{"type":"Complete","status":true}]}}`,
		`{"apiVersion":"example.io/v1","kind":"Thing","metadata":{"deletionTimestamp":7,"finalizers":"x"},"status":[]}`,
		`{"apiVersion":1,"kind":{},"metadata":"x","status":{"observedGeneration":"1"}}`,
	} {
		f.Add([]byte(seed), true)
	}
	analyzer := status.NewAnalyzer(reconcilerName, status.Options{})
	f.Fuzz(func(t *testing.T, raw []byte, hinted bool) {
		content := map[string]any{}
		if json.Unmarshal(raw, &content) != nil || content == nil {
			t.Skip()
		}
		object := &unstructured.Unstructured{Object: content}
		before := object.DeepCopy()
		hints := status.Hints{}
		if hinted {
			hints = status.Hints{HasObservedGeneration: true, HasReadyCondition: true, Conditions: []string{"A"}}
		}
		result, err := analyzer.Analyze(object, hints)
		if err != nil || result.Status == "" || result.Message == "" || len(result.Message) > status.MaxMessageLength {
			t.Errorf("got %+v and error %v", result, err)
		}
		_, _ = analyzer.AnalyzeAnnotated(object)
		status.IsPendingClaim(object)
		status.StorageClassOf(object)
		diff(t, object, before)
	})
}
