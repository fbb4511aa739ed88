// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// costs is a judge whose rules cost something.
type costs struct {
	fixed
	units uint64
}

func (c costs) JudgeWithin(object *unstructured.Unstructured, limit uint64) (status.Result, bool) {
	return c.Judge(object), c.units <= limit
}

// TestGlance judges by rules that may be too expensive where others wait.
func TestGlance(t *testing.T) {
	t.Parallel()
	list := make([]any, 2000)
	for i := range list {
		list[i] = int64(i)
	}
	ready := status.Result{Status: status.CurrentStatus, Message: "said"}
	content := map[string]any{"a": list}
	annotated := func(key, text string) *unstructured.Unstructured {
		return widget(map[string]string{prefix + "/" + key: text}, content)
	}
	for _, tc := range []struct {
		reason         string
		judge          status.Judge
		object         *unstructured.Unstructured
		glance, judged status.Status
	}{
		{"a judge without a limit", fixed{result: ready}, widget(nil, content), status.CurrentStatus, status.CurrentStatus},
		{"a cheap judge", costs{fixed{result: ready}, judges.Brief}, widget(nil, content), status.CurrentStatus, status.CurrentStatus},
		{"an expensive judge", costs{fixed{result: ready}, judges.Brief + 1}, widget(nil, content), status.InProgressStatus, status.CurrentStatus},
		{"a cheap annotation", fixed{result: ready}, annotated("ready-when", "self.status.a.size() == 2000"), status.CurrentStatus, status.CurrentStatus},
		{"an expensive annotation", fixed{result: ready}, annotated("ready-when", "self.status.a.all(x, x >= 0)"), status.InProgressStatus, status.CurrentStatus},
		{"an expensive failure", fixed{result: ready}, annotated("fail-when", "self.status.a.all(x, x >= 0)"), status.InProgressStatus, status.FailedStatus},
		{"an annotation that costs too much", fixed{result: ready}, annotated("ready-when", "self.status.a.all(x, self.status.a.all(y, y >= 0))"), status.InProgressStatus, status.UnknownStatus},
	} {
		all := judges.New(prefix, tc.judge)
		result, rules := all.Glance("owner", tc.object)
		isJudged := rules == all.Rules("owner", types.IDOf(tc.object))
		if result.Status != tc.glance || isJudged != (tc.glance == tc.judged) {
			t.Errorf("%s: at a glance: expected %s, got %s (%s), by the rules %q", tc.reason, tc.glance, result.Status, result.Message, rules)
		}
		if !isJudged && !strings.Contains(result.Message, "not judged yet") {
			t.Errorf("%s: unexpected message %q", tc.reason, result.Message)
		}
		result, rules = all.Judge("owner", tc.object)
		if result.Status != tc.judged || rules != all.Rules("owner", types.IDOf(tc.object)) {
			t.Errorf("%s: expected %s, got %s (%s), by the rules %q", tc.reason, tc.judged, result.Status, result.Message, rules)
		}
	}
}

// TestDependentsShareALimit pins that an owner with many dependents cannot keep a worker busy for as long as it likes.
func TestDependentsShareALimit(t *testing.T) {
	t.Parallel()
	list := make([]any, 2000)
	for i := range list {
		list[i] = int64(i)
	}
	object := widget(map[string]string{prefix + "/ready-when": "self.status.a.all(x, x >= 0)"}, map[string]any{"a": list})
	all := judges.New(prefix, fixed{result: status.Result{Status: status.CurrentStatus}})
	for _, tc := range []struct {
		dependents int
		want       status.Status
	}{{0, status.CurrentStatus}, {50, status.CurrentStatus}, {100, status.UnknownStatus}, {100_000, status.UnknownStatus}, {1, status.CurrentStatus}} {
		all.Share("owner", tc.dependents)
		if result, _ := all.Judge("owner", object); result.Status != tc.want {
			t.Errorf("%d dependents: expected %s, got %s (%s)", tc.dependents, tc.want, result.Status, result.Message)
		}
		cheap := widget(map[string]string{prefix + "/ready-when": "self.status.a.size() == 2000"}, map[string]any{"a": list})
		if result, _ := all.Judge("owner", cheap); result.Status != status.CurrentStatus {
			t.Errorf("%d dependents: a usual condition: got %s (%s)", tc.dependents, result.Status, result.Message)
		}
	}
}
