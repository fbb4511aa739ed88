// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/status"
)

// custom takes everything for unready.
type custom struct{}

func (custom) ComputeStatus(*unstructured.Unstructured) (status.Status, error) {
	return status.InProgressStatus, nil
}

func TestJudgesMetadata(t *testing.T) {
	analyzer := status.NewAnalyzer(reconcilerName, status.Options{})
	for _, test := range []struct {
		reason string
		kind   schema.GroupKind
		judges bool
	}{
		{"it has no status", schema.GroupKind{Kind: "Secret"}, true},
		{"it has one", schema.GroupKind{Kind: "Service"}, false},
		{"a kind of that name in another group may have one", schema.GroupKind{Group: "example.com", Kind: "Secret"}, false},
	} {
		if got := analyzer.JudgesMetadata(test.kind); got != test.judges {
			t.Errorf("%s: %s is judged by its metadata: %v, expected: %v", test.reason, test.kind, got, test.judges)
		}
	}
	if status.Adapt(reconcilerName, custom{}).JudgesMetadata(schema.GroupKind{Kind: "Secret"}) {
		t.Error("an adapted analyzer may look at anything")
	}
}
