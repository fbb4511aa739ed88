// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package probes_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/probes"
	"github.com/component-operator/runtime/pkg/status"
)

// declared parses probes, as a custom resource would have them.
func declared(t testing.TB, text string) []probes.Probe {
	t.Helper()
	var parsed []probes.Probe
	if err := yaml.UnmarshalStrict([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	parsed := &unstructured.Unstructured{}
	if err := parsed.UnmarshalJSON(encoded); err != nil {
		t.Fatal(err)
	}
	return parsed
}

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2, labels: {tier: web}, annotations: {example.io/revision: "7"}}, spec: {replicas: 3}, status: {STATUS}}`

func TestJudge(t *testing.T) {
	t.Parallel()
	available := `[{selector: {kind: {group: apps, kind: Deployment}}, probes: [{condition: {type: Available}}]}]`
	equal := `[{probes: [{fieldsEqual: {fieldA: .status.updatedReplicas, fieldB: .status.replicas}}]}]`
	for name, tc := range map[string]struct {
		probes, status string
		expected       status.Status
		message        string
	}{
		"the condition is true":              {available, `conditions: [{type: Available, status: "True"}]`, status.CurrentStatus, "all probes pass"},
		"the condition is false":             {available, `conditions: [{type: Available, status: "False", reason: Down, message: no pods}]`, status.InProgressStatus, "condition Available is False, not True (Down): no pods"},
		"the condition is missing":           {available, `conditions: []`, status.InProgressStatus, "condition Available is missing"},
		"the conditions are malformed":       {available, `conditions: none`, status.InProgressStatus, "status.conditions is not a list of conditions"},
		"the condition is outdated":          {available, `conditions: [{type: Available, status: "True", observedGeneration: 1}]`, status.InProgressStatus, "condition Available is of generation 1, not 2"},
		"the status is outdated":             {available, `observedGeneration: 1, conditions: [{type: Available, status: "True"}]`, status.InProgressStatus, "generation 2 is not observed yet, only 1"},
		"the condition is to be false":       {`[{probes: [{condition: {type: Progressing, status: "False"}}]}]`, `conditions: [{type: Progressing, status: "False"}]`, status.CurrentStatus, "all probes pass"},
		"the fields are equal":               {equal, `updatedReplicas: 3, replicas: 3`, status.CurrentStatus, "all probes pass"},
		"the fields differ":                  {equal, `updatedReplicas: 1, replicas: 3`, status.InProgressStatus, ".status.updatedReplicas is 1, and .status.replicas is 3"},
		"one field is missing":               {equal, `replicas: 3`, status.InProgressStatus, ".status.updatedReplicas is missing, and .status.replicas is 3"},
		"both fields are missing":            {equal, ``, status.CurrentStatus, "all probes pass"},
		"a field with dots":                  {`[{probes: [{fieldValue: {field: '.metadata.annotations.example\.io/revision', value: "7"}}]}]`, ``, status.CurrentStatus, "all probes pass"},
		"the field has another value":        {`[{probes: [{fieldValue: {field: .spec.replicas, value: "3"}}]}]`, ``, status.InProgressStatus, `.spec.replicas is 3, not "3"`},
		"the field is missing":               {`[{probes: [{fieldValue: {field: .spec.paused, value: true}}]}]`, ``, status.InProgressStatus, ".spec.paused is missing"},
		"an entry of a list":                 {`[{probes: [{fieldValue: {field: '.status.conditions[1].type', value: B}}]}]`, `conditions: [{type: A}, {type: B}]`, status.CurrentStatus, "all probes pass"},
		"a quoted field":                     {`[{probes: [{fieldValue: {field: ".metadata.annotations['example.io/revision']", value: "7"}}]}]`, ``, status.CurrentStatus, "all probes pass"},
		"the field is a map":                 {`[{probes: [{fieldValue: {field: .metadata.labels, value: {tier: web}}}]}]`, ``, status.CurrentStatus, "all probes pass"},
		"the expression is true":             {`[{probes: [{cel: {rule: self.spec.replicas == 3}}]}]`, ``, status.CurrentStatus, "all probes pass"},
		"the expression is false":            {`[{probes: [{cel: {rule: self.spec.replicas == 4, message: four are needed}}]}]`, ``, status.InProgressStatus, "four are needed"},
		"the expression cannot be evaluated": {`[{probes: [{cel: {rule: self.spec.paused, message: x}}]}]`, ``, status.UnknownStatus, ""},
		"unknown beats false":                {`[{probes: [{condition: {type: A}}, {cel: {rule: "false"}}]}]`, ``, status.InProgressStatus, "condition A is missing"},
		"all that is false is named":         {`[{probes: [{cel: {rule: "false", message: first}}]}, {probes: [{cel: {rule: "false", message: second}}, {cel: {rule: "false", message: first}}]}]`, ``, status.InProgressStatus, "first; second"},
		"another kind":                       {`[{selector: {kind: {group: apps, kind: StatefulSet}}, probes: [{cel: {rule: "false"}}]}]`, ``, status.CurrentStatus, "applied"},
		"its labels":                         {`[{selector: {selector: {matchLabels: {tier: web}}}, probes: [{cel: {rule: "false"}}]}]`, ``, status.InProgressStatus, "false is false"},
		"other labels":                       {`[{selector: {selector: {matchExpressions: [{key: tier, operator: NotIn, values: [web]}]}}, probes: [{cel: {rule: "false"}}]}]`, ``, status.CurrentStatus, "applied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge, err := probes.New(declared(t, tc.probes), nil)
			if tc.expected == status.UnknownStatus {
				if err == nil || !strings.Contains(err.Error(), "it is of type dyn") {
					t.Errorf("a bare field is no condition, got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			found := judge.Judge(object(t, strings.ReplaceAll(deployment, "STATUS", tc.status)))
			if found.Status != tc.expected || found.Message != tc.message {
				t.Errorf("expected %s (%s), got %s (%s)", tc.expected, tc.message, found.Status, found.Message)
			}
		})
	}
}

func TestInvalidProbes(t *testing.T) {
	t.Parallel()
	for text, expected := range map[string]string{
		`[{probes: []}]`:   "probes[0].probes: there are none; at least one is required",
		`[{probes: [{}]}]`: "probes[0].probes[0]: it has 0 checks; must have exactly one of",
		`[{probes: [{cel: {rule: "true"}}, {condition: {type: A}, cel: {rule: "true"}}]}]`:                                                       "probes[0].probes[1]: it has 2 checks; must have exactly one of",
		`[{selector: {kind: {group: apps, kind: ""}}, probes: [{cel: {rule: "true"}}]}]`:                                                         `probes[0].selector.kind.kind: invalid value ""; must be`,
		`[{selector: {selector: {matchExpressions: [{key: a, operator: Like}]}}, probes: [{cel: {rule: "true"}}]}]`:                              `probes[0].selector.selector: "Like" is not a valid label selector operator`,
		`[{probes: [{condition: {type: ""}}]}]`:                                                                                                  `probes[0].probes[0].condition.type: invalid value ""; must be`,
		`[{probes: [{condition: {type: A, status: "true"}}]}]`:                                                                                   `probes[0].probes[0].condition.status: invalid value "true"; must be one of: True, False, Unknown`,
		`[{probes: [{fieldsEqual: {fieldA: "", fieldB: .a}}]}]`:                                                                                  `probes[0].probes[0].fieldsEqual.fieldA: invalid value ""; must be the path of one field`,
		`[{probes: [{fieldsEqual: {fieldA: .a, fieldB: "."}}]}]`:                                                                                 `probes[0].probes[0].fieldsEqual.fieldB: invalid value "."; must be the path of one field`,
		`[{probes: [{fieldValue: {field: ".a[", value: 1}}]}]`:                                                                                   `probes[0].probes[0].fieldValue.field: invalid value ".a["`,
		`[{probes: [{fieldValue: {field: "..a", value: 1}}]}]`:                                                                                   `probes[0].probes[0].fieldValue.field: invalid value "..a"; must be the path of one field`,
		`[{probes: [{fieldValue: {field: ".a .b", value: 1}}]}]`:                                                                                 `probes[0].probes[0].fieldValue.field: invalid value ".a .b"; must be the path of one field`,
		`[{probes: [{fieldValue: {field: ".a}.b", value: 1}}]}]`:                                                                                 `probes[0].probes[0].fieldValue.field: invalid value ".a}.b"; must be the path of one field`,
		`[{probes: [{fieldValue: {field: ".a[*].b", value: 1}}]}]`:                                                                               `probes[0].probes[0].fieldValue.field: invalid value ".a[*].b"; must be the path of one field`,
		`[{probes: [{fieldValue: {field: ".a['b','c']", value: 1}}]}]`:                                                                           `probes[0].probes[0].fieldValue.field: invalid value ".a['b','c']"; must be the path of one field`,
		`[{probes: [{fieldValue: {field: ".a` + strings.Repeat("['a']", 200) + `", value: 1}}]}]`:                                                `probes[0].probes[0].fieldValue.field: invalid value of 1002 bytes; must be the path of one field`,
		`[{probes: [` + strings.Repeat(`{cel: {rule: "true"}},`, 128) + `]}, {probes: [` + strings.Repeat(`{cel: {rule: "true"}},`, 129) + `]}]`: `probes[1].probes: more than 256 checks in all probes together`,
		`[{probes: [` + strings.Repeat(`{cel: {rule: "`+strings.Repeat("true && ", 500)+`true"}},`, 17) + `]}]`:                                  `probes[0].probes: the expressions of all probes together have more than 65536 bytes`,
		`[{probes: [{cel: {rule: slef}}]}]`:                                                                                                      `probes[0].probes[0].cel.rule: invalid value "slef": line 1, column 1: undeclared reference to 'slef'`,
	} {
		if _, err := probes.New(declared(t, text), nil); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%s: expected an error with %q, got %v", text, expected, err)
		}
	}
	if _, err := probes.New([]probes.Probe{{Checks: []probes.Check{{FieldValue: &probes.FieldValue{Field: ".a"}}}}}, nil); err == nil ||
		!strings.Contains(err.Error(), `probes[0].probes[0].fieldValue.value: invalid value ""`) {
		t.Errorf("there is no value, got %v", err)
	}
}

// TestSecretsAreNotShown compares fields of a Secret.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	secret := object(t, `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: aHVudGVyMg==, other: aHVudGVyMw==}}`)
	for text, expected := range map[string]string{
		`{fieldValue: {field: .data.password, value: aHVudGVyNA==}}`:         ".data.password has another value",
		`{fieldsEqual: {fieldA: .data.password, fieldB: .data.other}}`:       ".data.password and .data.other have different values",
		`{fieldsEqual: {fieldA: .data.password, fieldB: .data.missing}}`:     ".data.password exists, and .data.missing is missing",
		`{cel: {rule: 'int(self.data.password) == 1'}}`:                      "int(self.data.password) == 1 cannot be evaluated: the reason is not shown, because the object is a Secret",
		`{cel: {rule: 'self.data.password == self.data.other', message: m}}`: "m",
	} {
		judge, err := probes.New(declared(t, "[{probes: ["+text+"]}]"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if found := judge.Judge(secret); found.Message != expected {
			t.Errorf("%s: expected %q, got %q", text, expected, found.Message)
		}
	}
}

// TestBase has a judge for objects that no probe selects.
func TestBase(t *testing.T) {
	t.Parallel()
	analyzer := status.NewAnalyzer("op.example.com", status.Options{})
	text := `[{selector: {kind: {group: "", kind: Secret}}, probes: [{cel: {rule: self.type == "a"}}]}]`
	judge, err := probes.New(declared(t, text), analyzer)
	if err != nil {
		t.Fatal(err)
	}
	pending := object(t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, status: {phase: Pending}}`)
	if found := judge.Judge(pending); found.Message != "not bound yet (phase Pending)" {
		t.Errorf("expected the verdict of the base, got %s (%s)", found.Status, found.Message)
	}
	overruling, metadata := judge.(status.OverrulingJudge), judge.(status.MetadataJudge)
	if overruling.Overrules(pending) || !overruling.Overrules(object(t, `{apiVersion: v1, kind: Secret, metadata: {name: a}}`)) {
		t.Error("probes overrule ready-when for the objects that they select")
	}
	for kind, expected := range map[string]bool{"ConfigMap": true, "Secret": false, "PersistentVolumeClaim": false} {
		if metadata.JudgesMetadata(schema.GroupKind{Kind: kind}) != expected {
			t.Errorf("%s: expected that metadata is enough: %v", kind, expected)
		}
	}
	alone, err := probes.New(declared(t, text), nil)
	if err != nil || !alone.(status.MetadataJudge).JudgesMetadata(schema.GroupKind{Kind: "Pod"}) || alone.(status.MetadataJudge).JudgesMetadata(schema.GroupKind{Kind: "Secret"}) {
		t.Errorf("without a base, only what probes select needs its content (%v)", err)
	}
	if alone.Rules() == judge.Rules() {
		t.Error("other rules have the same text")
	}
}

// TestHostileProbes judges an object by as many checks as are allowed, each of which costs almost as much as is allowed
// for all of them.
func TestHostileProbes(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	entries := make([]any, 30_000)
	for i := range entries {
		entries[i] = map[string]any{"a": "b"}
	}
	hostile := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Hostile", "a": entries, "b": entries}}
	for text, expected := range map[string]string{
		`{cel: {rule: "self.a.all(x, self.b.size() > 0)"}}`: "costs too much for this object",
		`{cel: {rule: "self.a == self.b"}}`:                 "costs too much for this object",
		`{fieldsEqual: {fieldA: .a, fieldB: .b}}`:           ".a and .b: comparing them costs too much for this object",
		`{fieldValue: {field: .a, value: 1}}`:               ".a: comparing it costs too much for this object",
	} {
		judge, err := probes.New(declared(t, `[{probes: [`+strings.Repeat(text+",", probes.MaxChecks)+`]}]`), nil)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := judge.Judge(hostile)
		runtime.ReadMemStats(&after)
		if found.Status != status.InProgressStatus || !strings.Contains(found.Message, expected) {
			t.Errorf("%s: expected %q, got %s (%s)", text, expected, found.Status, found.Message)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 200_000_000 {
			t.Errorf("%s: it has allocated %d bytes", text, allocated)
		}
	}
}

// FuzzPaths compares fields that paths lead to. A path leads to one value or nowhere, whatever it looks like.
func FuzzPaths(f *testing.F) {
	for _, seed := range []string{
		".spec.replicas", "{.metadata.labels}", ".metadata.annotations.example\\.io/revision", ".status.conditions[1].type", ".a['b']", `.a["b"]`, "..a..a..a", ".a[*]", ".a[?(@.b)]", ".a[-1]",
		".a[0:2]", ".a['b','c']", ".metadata['labels'" + strings.Repeat(",'labels'", 100) + "]", "", ".", "{", "{}", ".a[999999999999]", ".a\\",
	} {
		f.Add(seed)
	}
	judged := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "a": []any{map[string]any{"b": "c"}}, "spec": map[string]any{"replicas": int64(3)},
	}}
	f.Fuzz(func(t *testing.T, text string) {
		judge, err := probes.New([]probes.Probe{{Checks: []probes.Check{{FieldsEqual: &probes.FieldsEqual{FieldA: text, FieldB: text}}}}}, nil)
		if err != nil {
			if !strings.Contains(err.Error(), "must be the path of one field") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if found := judge.Judge(judged); found.Status != status.CurrentStatus {
			t.Errorf("%q: a field does not equal itself: %s", text, found.Message)
		}
	})
}

func ExampleNew() {
	judge, err := probes.New([]probes.Probe{{
		Selector: probes.Selector{Kind: &probes.Kind{Group: "apps", Kind: "Deployment"}},
		Checks:   []probes.Check{{FieldsEqual: &probes.FieldsEqual{FieldA: ".status.updatedReplicas", FieldB: ".status.replicas"}}},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	found := judge.Judge(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "status": map[string]any{"updatedReplicas": int64(1), "replicas": int64(2)},
	}})
	fmt.Println(found.Status, found.Message)
	// Output: InProgress .status.updatedReplicas is 1, and .status.replicas is 2
}
