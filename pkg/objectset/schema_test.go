// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// valid is a document that changes of the tests below make invalid.
const valid = `
apiVersion: core.component-operator.dev/v1alpha1
kind: ObjectSet
metadata: {name: demo, namespace: NS}
spec:
  revision: 1
  phases:
  - name: first
    objects:
    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  availabilityProbes:
  - probes:
    - condition: {type: Ready}
`

// TestSchema has the API server refuse what its schema can tell.
func TestSchema(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tc := range []struct{ reason, old, new, want string }{
		{"valid", "", "", ""},
		{"no phase", "phases:\n  - name: first\n    objects:\n    - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", "phases: []\n", "spec.phases"},
		{"two phases of one name", "  availability", "  - name: first\n  availability", "spec.phases[1]: Duplicate value"},
		{"a phase with an invalid name", "name: first", "name: First", "spec.phases[0].name"},
		{"a check of two kinds", "{type: Ready}", "{type: Ready}\n      cel: {rule: \"true\"}", "spec.availabilityProbes[0].probes[0]"},
		{"a check of no kind", "- condition: {type: Ready}", "- {}", "spec.availabilityProbes[0].probes[0]"},
		{"a probe without checks", "  - probes:\n    - condition: {type: Ready}", "  - probes: []", "spec.availabilityProbes[0].probes"},
		{"a condition without a type", "{type: Ready}", "{type: \"\"}", "spec.availabilityProbes[0].probes[0].condition.type"},
		{"an unknown status", "{type: Ready}", "{type: Ready, status: Yes}", "spec.availabilityProbes[0].probes[0].condition.status"},
		{"a path without a field", "condition: {type: Ready}", "fieldValue: {field: status, value: 1}", "spec.availabilityProbes[0].probes[0].fieldValue.field"},
		{"a long path", "condition: {type: Ready}", "fieldValue: {field: ." + strings.Repeat("a", 512) + ", value: 1}", "spec.availabilityProbes[0].probes[0].fieldValue.field: Too long"},
		{"a long expression", "condition: {type: Ready}", "cel: {rule: \"" + strings.Repeat("a", 4097) + "\"}", "spec.availabilityProbes[0].probes[0].cel.rule: Too long"},
		{"an impossible revision", "  revision: 1", "  revision: 9223372036854775807", "less than or equal to 9.007199254740992e+15"},
		{"an unknown lifecycle state", "  revision: 1", "  lifecycleState: Gone", "spec.lifecycleState"},
		{"an unknown collision protection", "  revision: 1", "  collisionProtection: Maybe", "spec.collisionProtection"},
		{"a negative delay", "  revision: 1", "  successDelaySeconds: -1", "spec.successDelaySeconds"},
	} {
		document := strings.Replace(valid, tc.old, tc.new, 1)
		if tc.old != "" && document == valid {
			t.Fatalf("%s: the change does not fit", tc.reason)
		}
		set := newUnstructured(t, strings.ReplaceAll(document, "NS", r.namespace))
		err := r.client.Create(t.Context(), set, client.DryRunAll)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want an error with %q", tc.reason, err, tc.want)
		}
	}
}

// TestImmutability lets nothing but the lifecycle state and the deadline change, in either scope.
func TestImmutability(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	set := newUnstructured(t, strings.ReplaceAll(valid, "NS", r.namespace))
	r.create(set)
	r.expectImmutable(set)
	clusterSet := newUnstructured(t, replace(valid, "kind: ObjectSet", "kind: ClusterObjectSet", ", namespace: NS}", ", labels: {"+labelRig+": "+r.name+"}}", "name: demo", "name: "+r.name))
	r.create(clusterSet)
	r.expectImmutable(clusterSet)

	// Without its service account, a set could delete what only the operator may.
	limited := newUnstructured(t, strings.ReplaceAll(strings.Replace(valid, "  revision: 1", "  serviceAccountName: limited", 1), "NS", r.namespace))
	limited.SetName("limited")
	r.create(limited)
	for _, patch := range []string{`{"spec":{"serviceAccountName":null}}`, `{"spec":{"serviceAccountName":"a"}}`} {
		err := r.client.Patch(t.Context(), limited, client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "serviceAccountName cannot be changed") {
			t.Errorf("%s: got %v", patch, err)
		}
	}
}

// expectImmutable checks what may change of the set of the document valid.
func (r *rig) expectImmutable(set client.Object) {
	r.tb.Helper()
	for patch, want := range map[string]string{
		`{"spec":{"lifecycleState":"Paused"}}`:    "",
		`{"spec":{"progressDeadlineSeconds":5}}`:  "",
		`{"spec":{"revision":2}}`:                 "revision cannot be changed",
		`{"spec":{"revision":null}}`:              "revision cannot be changed",
		`{"spec":{"previous":[{"name":"a"}]}}`:    "previous cannot be changed",
		`{"spec":{"availabilityProbes":null}}`:    "availabilityProbes cannot be changed",
		`{"spec":{"availabilityProbes":[]}}`:      "availabilityProbes cannot be changed",
		`{"spec":{"collisionProtection":"None"}}`: "collisionProtection cannot be changed",
		`{"spec":{"successDelaySeconds":1}}`:      "successDelaySeconds cannot be changed",
		`{"spec":{"phases":[{"name":"second"}]}}`: "phases cannot be changed",
		`{"spec":{"phases":[{"name":"first","objects":[{"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}}]}]}}`: "phases cannot be changed",
	} {
		err := r.client.Patch(r.tb.Context(), set, client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			r.tb.Errorf("%s: got %v, want %q", patch, err, want)
		}
	}
}
