// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/reconciler"
)

const driftable = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/drift-policy: POLICY, PREFIX/update-policy: UPDATE}}
data: {value: "1", other: "1"}
`

func TestDrift(t *testing.T) {
	t.Parallel()
	changed := map[string]any{"value": "2", "other": "1"}
	declared := map[string]any{"value": "1", "other": "1"}
	added := map[string]any{"value": "1", "other": "1", "more": "x"}
	for name, tc := range map[string]struct {
		reason, policy, update, patch string
		want                          map[string]any
		actions                       []string
		drift                         string
	}{
		"CorrectChange":        {"a declared value is restored", "correct", "ssa-merge", `{"data":{"value":"2"}}`, declared, []string{"Corrected ConfigMap a"}, ""},
		"CorrectRemoval":       {"a declared value is restored", "correct", "ssa-merge", `{"data":{"value":null}}`, declared, []string{"Corrected ConfigMap a"}, ""},
		"CorrectAdditionMerge": {"additions are no drift when merging", "correct", "ssa-merge", `{"data":{"more":"x"}}`, added, nil, ""},
		"CorrectAddition":      {"additions are drift when replacing", "correct", "replace", `{"data":{"more":"x"}}`, declared, []string{"Corrected ConfigMap a"}, ""},
		"CorrectLabel":         {"additional labels are nobody's drift", "correct", "replace", `{"metadata":{"labels":{"more":"x"}}}`, declared, nil, ""},
		"CorrectOwnerLabel":    {"the mark of ownership is restored", "correct", "replace", `{"metadata":{"labels":{"PREFIX/owner-id":null}}}`, declared, []string{"Corrected ConfigMap a"}, ""},
		"ReportChange":         {"a change is named and left alone", "report", "replace", `{"data":{"value":"2"}}`, changed, nil, "ConfigMap a: was changed by another client"},
		"ReportNothing":        {"what has no effect is not named", "report", "replace", `{"metadata":{"labels":{"more":"x"}}}`, declared, nil, ""},
		"IgnoreChange":         {"nobody looks", "ignore", "replace", `{"data":{"value":"2"}}`, changed, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifest := strings.NewReplacer("POLICY", tc.policy, "UPDATE", tc.update).Replace(driftable)
			w.mustApply(manifest)
			w.rest(manifest)
			w.patch(w.configMap("a"), tc.patch)
			version := w.configMap("a").GetResourceVersion()
			w.awaitEvent()
			result := w.mustApply(manifest)
			w.expectActions(result, tc.actions...)
			after := w.configMap("a")
			if diff := diffData(tc.want, after); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got := notices(result.Drift); got != tc.drift {
				t.Errorf("%s: expected drift %q, got %q", tc.reason, tc.drift, got)
			}
			if len(tc.actions) == 0 && after.GetResourceVersion() != version {
				t.Errorf("%s: the object was written", tc.reason)
			}
			w.rest(manifest)
			w.requests.Reset()
			w.expectActions(w.mustApply(manifest))
			if writes := w.writes(); len(writes) > 0 {
				t.Errorf("%s: expected rest, got %v", tc.reason, writes)
			}
		})
	}
}

func TestDeletedDependentIsCreatedAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, policy string
		recreated      bool
	}{
		"Correct": {"it is created again", "correct", true},
		"Report":  {"it is named and left alone", "report", false},
		"Ignore":  {"only the content is ignored", "ignore", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifest := strings.NewReplacer("POLICY", tc.policy, "UPDATE", "replace").Replace(driftable)
			w.mustApply(manifest)
			w.rest(manifest)
			w.remove(w.configMap("a"))
			w.awaitEvent()
			result := w.mustApply(manifest)
			if tc.recreated {
				w.expectActions(result, "Restored ConfigMap a")
			} else if got := notices(result.Drift); got != "ConfigMap a: was deleted by another client" {
				t.Errorf("%s: got %q", tc.reason, got)
			}
			if exists := w.configMap("a") != nil; exists != tc.recreated {
				t.Errorf("%s: exists: %v", tc.reason, exists)
			}
			w.expectInventory("ConfigMap a Ready Current")
		})
	}
}

// TestCorrectionsSayWhoChangedWhat reads the reason of each correction.
func TestCorrectionsSayWhoChangedWhat(t *testing.T) {
	t.Parallel()
	const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {one: "1", two: "2", three: "3"}}`
	for name, test := range map[string]struct{ reason, patch, want string }{
		"change":  {"a field is changed", `{"data":{"one":"drifted"}}`, "was changed by kubectl-edit: .data.one"},
		"several": {"fields are changed", `{"data":{"one":"drifted","two":"drifted"}}`, "was changed by kubectl-edit: .data.one, .data.two"},
		"removal": {"a field is removed, which nobody owns then", `{"data":{"one":null}}`, "was changed by another client: .data.one"},
		"both":    {"one field is changed and another one is removed", `{"data":{"one":null,"two":"drifted"}}`, "was changed by kubectl-edit: .data.one, .data.two"},
		"surplus": {"a field is added", `{"data":{"four":"4"}}`, "was changed by kubectl-edit: .data.four"},
		"label":   {"the owner label is removed", `{"metadata":{"labels":{"PREFIX/owner-id":null}}}`, `was changed by another client: .metadata.labels.PREFIX/owner-id`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			declared := strings.ReplaceAll(manifest, "NAME", name)
			w.mustApply(declared)
			w.patchAs(w.configMap(name), w.expand(test.patch), "kubectl-edit")
			result := w.settle(declared, func(result reconciler.Result) (bool, string) { return len(result.Actions) > 0, "want a correction" })
			w.expectActions(result, "Corrected ConfigMap "+name)
			if got := result.Actions[0].Reasons[0]; got != w.expand(test.want) {
				t.Errorf("%s: want %q, got %q", test.reason, w.expand(test.want), got)
			}
		})
	}
}

func TestFightIsBackedOffAndNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifest := strings.NewReplacer("POLICY", "correct", "UPDATE", "replace").Replace(driftable)
	w.mustApply(manifest)
	var last reconciler.Result
	for range 8 {
		w.patchAs(w.configMap("a"), `{"data":{"value":"2"}}`, "stubborn")
		w.awaitEvent()
		last = w.settle(manifest, func(result reconciler.Result) (bool, string) {
			return len(result.Actions)+len(result.Drift) > 0, "want drift to be noticed"
		})
		if len(last.Drift) > 0 {
			break
		}
	}
	if want := "ConfigMap a: is repeatedly changed by stubborn: .data.value"; notices(last.Drift) != want {
		t.Errorf("expected %q, got %q", want, notices(last.Drift))
	}
	if last.RequeueAfter == 0 {
		t.Error("a correction that is put off needs a timer")
	}
	if !last.Done {
		t.Error("a fight does not make the dependent unready")
	}
	w.settle(manifest, func(result reconciler.Result) (bool, string) {
		return len(result.Actions) > 0, "the correction is to follow"
	})
}

func TestDriftIsCorrectedBeyondAnUnreadyWave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settle(threeWaves, done)
	stuck := strings.ReplaceAll(threeWaves, "metadata: {labels: {app: second}}",
		`metadata: {labels: {app: second}, annotations: {sandbox.component-operator.io/never-ready: "true"}}`)
	w.settle(stuck, func(result reconciler.Result) (bool, string) {
		return len(result.Waits) == 1, "the Deployment is to get stuck"
	})
	w.remove(w.get("v1", "Service", "third"))
	result := w.settle(stuck, func(result reconciler.Result) (bool, string) {
		return len(result.Actions) > 0, "want the Service to be created again"
	})
	w.expectActions(result, "Restored Service third")
}

func TestReplaceRemovesSidecarAndKeepsRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  replicas: 0
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: main, image: example.com/none}]}
`
	w.settle(manifest, done)
	w.patch(w.get("apps/v1", "Deployment", "a"), `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}},
		"spec":{"containers":[{"name":"main","image":"example.com/none","env":[{"name":"X","value":"1"}]},{"name":"sidecar","image":"example.com/none"}]}}}}`)
	w.settle(manifest, func(result reconciler.Result) (bool, string) {
		return len(result.Actions) > 0, "want drift to be corrected"
	})
	after := w.get("apps/v1", "Deployment", "a")
	containers, _, _ := unstructured.NestedSlice(after.Object, "spec", "template", "spec", "containers")
	if len(containers) != 1 || containers[0].(map[string]any)["env"] != nil {
		t.Errorf("expected the sidecar and the variable to be gone, got %v", containers)
	}
	annotations, _, _ := unstructured.NestedStringMap(after.Object, "spec", "template", "metadata", "annotations")
	if annotations["kubectl.kubernetes.io/restartedAt"] == "" {
		t.Error("a restart that a user asked for must not be undone")
	}
}

func TestEmptySecretIsThereToBeFilled(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nDATA\n"
	empty, full := strings.ReplaceAll(manifest, "DATA", ""), strings.ReplaceAll(manifest, "DATA", "stringData: {own: x}")
	w := newWorld(t)
	w.mustApply(empty)
	w.rest(empty)
	w.patch(w.get("v1", "Secret", "a"), `{"data":{"tls.crt":"eA=="}}`)
	w.awaitEvent()
	w.expectActions(w.mustApply(empty))
	if diff := diffData(map[string]any{"tls.crt": "eA=="}, w.get("v1", "Secret", "a")); diff != "" {
		t.Error(diff)
	}
	w.mustApply(full)
	if diff := diffData(map[string]any{"own": "eA=="}, w.get("v1", "Secret", "a")); diff != "" {
		t.Errorf("a manifest with content excludes others (-want +got):\n%s", diff)
	}
}

// TestIgnoredFields belong to whoever changes them, in updates, corrections and plans.
func TestIgnoredFields(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {team: ours}, annotations: {PREFIX/ignore-fields: 'data.theirs, metadata.labels["team"]'}}
data: {theirs: "THEIRS", ours: "OURS"}
`
	expand := func(theirs, ours string) string {
		return strings.NewReplacer("THEIRS", theirs, "OURS", ours).Replace(manifest)
	}
	for policy, want := range map[reconciler.UpdatePolicy]string{reconciler.UpdatePolicyReplace: "", reconciler.UpdatePolicySsaMerge: "x"} {
		w := newWorld(t)
		w.policies.Update = policy
		expectData := func(reason, theirs, ours, more, team string) {
			t.Helper()
			object := w.configMap("a")
			data, _, _ := unstructured.NestedStringMap(object.Object, "data")
			if data["theirs"] != theirs || data["ours"] != ours || data["more"] != more || object.GetLabels()["team"] != team {
				t.Errorf("%s, %s: got %v, team %s", policy, reason, data, object.GetLabels()["team"])
			}
		}
		w.mustApply(expand("1", "1"))
		w.patchAs(w.configMap("a"), `{"metadata":{"labels":{"team":"other"}},"data":{"theirs":"3"}}`, "other")
		w.awaitEvent()
		w.expectActions(w.mustApply(expand("1", "1")))
		expectData("they are not corrected", "3", "1", "", "other")
		if plan := w.plan(expand("4", "2"), reconciler.PlanOptions{Compare: true}); len(plan.Changes) != 1 || len(plan.Changes[0].Notes) > 0 {
			t.Errorf("%s: want an update without notes, got %+v", policy, plan.Changes)
		}
		w.mustApply(expand("4", "2"))
		expectData("an update leaves them alone", "3", "2", "", "other")
		w.patchAs(w.configMap("a"), `{"data":{"ours":"x","more":"x"}}`, "other")
		w.rest(expand("4", "2"))
		expectData("others are corrected", "3", "2", want, "other")
		w.remove(w.configMap("a"))
		w.rest(expand("4", "2"))
		expectData("a new object is as declared", "4", "2", "", "ours")
		w.mustDelete()
	}
}
