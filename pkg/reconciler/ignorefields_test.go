// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
)

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
		w.mustApply(expand("2", "1"))
		expectData("as long as nobody else changes them, they are ours", "2", "1", "", "ours")
		w.patchAs(w.configMap("a"), `{"metadata":{"labels":{"team":"other"}},"data":{"theirs":"3"}}`, "other")
		w.awaitEvent()
		w.expectActions(w.mustApply(expand("2", "1")))
		expectData("they are not corrected", "3", "1", "", "other")
		if plan := w.plan(expand("4", "2"), reconciler.PlanOptions{Compare: true}); len(plan.Changes) != 1 || len(plan.Changes[0].Notes) > 0 {
			t.Errorf("%s: want an update without notes, got %+v", policy, plan.Changes)
		}
		w.mustApply(expand("4", "2"))
		expectData("an update leaves them alone", "3", "2", "", "other")
		w.patchAs(w.configMap("a"), `{"data":{"ours":"x","more":"x"}}`, "other")
		w.rest(expand("4", "2"))
		expectData("others are corrected", "3", "2", want, "other")
		w.policies.Drift = reconciler.DriftPolicyReport
		w.patchAs(w.configMap("a"), `{"data":{"theirs":"5"}}`, "other")
		w.rest(expand("4", "2"))
		if result := w.mustApply(expand("4", "2")); len(result.Drift) > 0 {
			t.Errorf("%s: want no drift to be reported, got %s", policy, notices(result.Drift))
		}
		w.policies.Drift = ""
		w.remove(w.configMap("a"))
		w.rest(expand("4", "2"))
		expectData("a new object is as declared", "4", "2", "", "ours")
		w.mustDelete()
	}
}

// TestIgnoredReplicas leaves the number of replicas to an autoscaler.
func TestIgnoredReplicas(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: house, annotations: {PREFIX/ignore-fields: spec.replicas}}
spec:
  replicas: 0
  paused: true
  minReadySeconds: SECONDS
  selector: {matchLabels: {app: house}}
  template:
    metadata: {labels: {app: house}}
    spec: {nodeSelector: {there-is: none}, containers: [{name: main, image: example.com/none}]}
`
	w := newWorld(t)
	if _, err := w.apply(strings.ReplaceAll(manifest, "SECONDS", "0")); err != nil {
		t.Fatal(err)
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "house"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(scale)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.SubResource("scale").Update(t.Context(), w.get("apps/v1", "Deployment", "house"), client.WithSubResourceBody(&unstructured.Unstructured{Object: content}), client.FieldOwner("autoscaler")); err != nil {
		t.Fatal(err)
	}
	w.awaitEvent()
	if _, err := w.apply(strings.ReplaceAll(manifest, "SECONDS", "0")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.apply(strings.ReplaceAll(manifest, "SECONDS", "1")); err != nil {
		t.Fatal(err)
	}
	house := w.get("apps/v1", "Deployment", "house")
	replicas, _, _ := unstructured.NestedInt64(house.Object, "spec", "replicas")
	if seconds, _, _ := unstructured.NestedInt64(house.Object, "spec", "minReadySeconds"); replicas != 3 || seconds != 1 {
		t.Errorf("want 3 replicas and 1 second, got %d and %d", replicas, seconds)
	}
	w.mustDelete()
}

// TestBadIgnoredFields refuses fields that cannot belong to others.
func TestBadIgnoredFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, field := range []string{"status", "metadata.name", "metadata.annotations", "kind", "spec.list[0]", "spec[", `metadata.annotations["PREFIX/digest"]`} {
		_, err := w.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/ignore-fields: '" + field + "'}}\n")
		w.expectRefusal(err, "ConfigMap NS/a: annotation PREFIX/ignore-fields: invalid ")
	}
}
