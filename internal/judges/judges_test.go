// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package judges_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

const prefix = "op.example.com"

// fixed is a judge that always says the same.
type fixed struct {
	result    status.Result
	rules     string
	overrules bool
}

func (f fixed) Judge(*unstructured.Unstructured) status.Result   { return f.result }
func (f fixed) Rules() string                                    { return f.rules }
func (f fixed) Overrules(object *unstructured.Unstructured) bool { return f.overrules }

// widget returns an object of generation 2 with annotations.
func widget(annotations map[string]string, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"status": content}}
	object.SetAPIVersion("example.io/v1")
	object.SetKind("Widget")
	object.SetName("a")
	object.SetGeneration(2)
	object.SetAnnotations(annotations)
	return object
}

func TestConditions(t *testing.T) {
	t.Parallel()
	const ready, fail = prefix + "/ready-when", prefix + "/fail-when"
	running := map[string]any{"phase": "Running"}
	nested := `self.status.a.all(x, self.status.a.exists(y, y > x))`
	long := make([]any, 20_000)
	for i := range long {
		long[i] = int64(i)
	}
	for name, tc := range map[string]struct {
		base        status.Result
		overrules   bool
		annotations map[string]string
		content     map[string]any
		deleting    bool
		expected    status.Status
		message     string
	}{
		"no annotation":                     {status.Result{Status: status.CurrentStatus, Message: "said"}, false, nil, running, false, status.CurrentStatus, "said"},
		"ready-when holds":                  {status.Result{Status: status.InProgressStatus}, false, map[string]string{ready: `self.status.phase == "Running"`}, running, false, status.CurrentStatus, "ready-when holds"},
		"ready-when beats a failure":        {status.Result{Status: status.FailedStatus}, false, map[string]string{ready: `self.status.phase == "Running"`}, running, false, status.CurrentStatus, "ready-when holds"},
		"ready-when does not hold":          {status.Result{Status: status.CurrentStatus}, false, map[string]string{ready: `self.status.phase == "Done"`}, running, false, status.InProgressStatus, `ready-when does not hold: self.status.phase == "Done"`},
		"a failure stays":                   {status.Result{Status: status.FailedStatus, Message: "said"}, false, map[string]string{ready: `self.status.phase == "Done"`}, running, false, status.FailedStatus, "said"},
		"ready-when cannot be evaluated":    {status.Result{Status: status.CurrentStatus}, false, map[string]string{ready: `self.status.phase.x == "Done"`}, nil, false, status.InProgressStatus, "ready-when cannot be evaluated (no such key: phase)"},
		"ready-when of an older generation": {status.Result{Status: status.CurrentStatus}, false, map[string]string{ready: `self.status.phase == "Running"`}, map[string]any{"phase": "Running", "observedGeneration": int64(1)}, false, status.InProgressStatus, "generation 2 is not observed yet"},
		"fail-when holds":                   {status.Result{Status: status.CurrentStatus}, false, map[string]string{fail: `self.status.phase == "Running"`}, running, false, status.FailedStatus, `fail-when holds: self.status.phase == "Running"`},
		"fail-when beats ready-when":        {status.Result{Status: status.CurrentStatus}, false, map[string]string{fail: `self.status.phase == "Running"`, ready: `self.status.phase == "Running"`}, running, false, status.FailedStatus, "fail-when holds"},
		"fail-when does not hold":           {status.Result{Status: status.CurrentStatus, Message: "said"}, false, map[string]string{fail: `self.status.phase == "Broken"`}, running, false, status.CurrentStatus, "said"},
		"an overruling judge":               {status.Result{Status: status.InProgressStatus, Message: "said"}, true, map[string]string{ready: `self.status.phase == "Running"`}, running, false, status.InProgressStatus, "said"},
		"fail-when beats an overruling one": {status.Result{Status: status.CurrentStatus}, true, map[string]string{fail: `self.status.phase == "Running"`}, running, false, status.FailedStatus, "fail-when holds"},
		"an object that is being deleted":   {status.Result{Status: status.CurrentStatus, Message: "said"}, false, map[string]string{ready: `self.status.phase == "Running"`}, running, true, status.TerminatingStatus, "being deleted"},
		"an annotation that others changed": {status.Result{Status: status.CurrentStatus}, false, map[string]string{ready: `slef.a`}, running, false, status.UnknownStatus, "op.example.com/ready-when: invalid value"},
		"ready-when that costs too much":    {status.Result{Status: status.CurrentStatus}, false, map[string]string{ready: nested}, map[string]any{"a": long}, false, status.UnknownStatus, "costs too much for this object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := widget(tc.annotations, tc.content)
			if tc.deleting {
				now := metav1.Now()
				object.SetDeletionTimestamp(&now)
			}
			result, _ := judges.New(prefix, fixed{result: tc.base, overrules: tc.overrules}).Judge("o", object)
			if result.Status != tc.expected || !strings.Contains(result.Message, tc.message) || len(result.Message) > status.MaxMessageLength {
				t.Errorf("expected %s (%s), got %s (%s)", tc.expected, tc.message, result.Status, result.Message)
			}
		})
	}
}

// TestDeadlinesStay keeps the deadline of the judge while the object is not ready: then its status may become a
// failure.
func TestDeadlinesStay(t *testing.T) {
	t.Parallel()
	base := fixed{result: status.Result{Status: status.InProgressStatus, Deadline: time.Minute}}
	for text, expected := range map[string]time.Duration{"false": time.Minute, "true": 0} {
		result, _ := judges.New(prefix, base).Judge("o", widget(map[string]string{prefix + "/ready-when": text}, nil))
		if result.Deadline != expected {
			t.Errorf("ready-when %s: expected %s, got %s", text, expected, result.Deadline)
		}
	}
}

// panics is a judge that panics.
type panics struct{}

func (panics) Judge(*unstructured.Unstructured) status.Result { panic("nothing here") }
func (panics) Overrules(*unstructured.Unstructured) bool      { panic("nor here") }
func (panics) Rules() string                                  { return "panics" }

func TestOwnersHaveTheirJudges(t *testing.T) {
	t.Parallel()
	all := judges.New(prefix, status.NewAnalyzer(prefix, status.Options{}))
	all.Assign("strict", fixed{result: status.Result{Status: status.FailedStatus, Message: strings.Repeat("x", 1000)}, rules: "v1"})
	all.Assign("broken", panics{})
	configMap := schema.GroupKind{Kind: "ConfigMap"}
	object := widget(map[string]string{prefix + "/ready-when": `false`}, nil)
	expect := func(owner string, expected status.Status, message, rules string, content bool) {
		t.Helper()
		result, by := all.Judge(owner, object)
		if result.Status != expected || !strings.Contains(result.Message, message) || len(result.Message) > status.MaxMessageLength || by != rules || all.Rules(owner, types.IDOf(object)) != rules {
			t.Errorf("%s: expected %s (%s) by %q, got %s (%s) by %q", owner, expected, message, rules, result.Status, result.Message, by)
		}
		if all.NeedsContent(owner, configMap) != content {
			t.Errorf("%s: expected that it needs the content of ConfigMaps: %v", owner, content)
		}
	}
	expect("strict", status.FailedStatus, "xxx", "v1", true)
	expect("broken", status.UnknownStatus, "the judge has panicked: nothing here", "panics", true)
	expect("another", status.InProgressStatus, "ready-when does not hold: false", "", false)
	all.Assign("strict", nil)
	expect("strict", status.InProgressStatus, "ready-when does not hold", "", false)
	single := map[types.ObjectID]status.Judge{types.IDOf(object): fixed{result: status.Result{Status: status.CurrentStatus, Message: "single"}, rules: "v2"}}
	for owner, expected := range map[string]struct{ message, rules string }{
		"another": {"ready-when does not hold", "\nv2"}, "overruling": {"overruled", "v1\nv2"}, "judged": {"ready-when does not hold", "v1\nv2"},
	} {
		if owner != "another" {
			all.Assign(owner, fixed{result: status.Result{Status: status.InProgressStatus, Message: "overruled"}, rules: "v1", overrules: owner == "overruling"})
		}
		all.AssignObjects(owner, single)
		expect(owner, status.InProgressStatus, expected.message, expected.rules, owner != "another")
		plain := widget(nil, nil)
		message := map[bool]string{true: "overruled", false: "single"}[owner == "overruling"]
		if result, _ := all.Judge(owner, plain); result.Message != message {
			t.Errorf("%s: expected the judge of the object unless it is overruled, got %s", owner, result.Message)
		}
		plain.SetName("b")
		if result, rules := all.Judge(owner, plain); result.Message == "single" || strings.Contains(rules, "v2") {
			t.Errorf("%s: another object must not be judged by it, got %s by %q", owner, result.Message, rules)
		}
		all.Forget(owner)
		expect(owner, status.InProgressStatus, "ready-when does not hold", "", false)
	}
	if !all.JudgesMetadata(configMap) || judges.New(prefix, panics{}).JudgesMetadata(configMap) {
		t.Error("ConfigMaps are judged by their metadata, but only if the judge of the reconciler says so")
	}
}
