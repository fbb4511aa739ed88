// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/status"
)

const reconcilerName = "operator.example.io"

// parse reads an object as the API server would return it.
func parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(manifest, "\t", " ")))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return object
}

func at(t *testing.T, value string) clock.PassiveClock {
	t.Helper()
	now, err := time.Parse(time.RFC3339, value)
	if err != nil {
		t.Fatal(err)
	}
	return clocktesting.NewFakePassiveClock(now)
}

// verdict is one row: an object, by what is written about it, and what is to be found.
type verdict struct {
	reason  string
	object  string
	hints   status.Hints
	status  status.Status
	message string
}

// checkVerdicts checks the rows; head is what the flow mappings of all objects begin with, or empty.
func checkVerdicts(t *testing.T, head string, verdicts []verdict) {
	t.Helper()
	for _, row := range verdicts {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			manifest := row.object
			if head != "" {
				manifest = "{" + head + ", " + strings.TrimPrefix(manifest, "{")
			}
			object := parse(t, manifest)
			before := object.DeepCopy()
			got, err := status.NewAnalyzer(reconcilerName, status.Options{}).Analyze(object, row.hints)
			if err != nil {
				t.Fatal(err)
			}
			got.Grade = "" // see TestGrades
			diff(t, got, status.Result{Status: row.status, Message: row.message})
			diff(t, object, before)
		})
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
