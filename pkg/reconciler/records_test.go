// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/reconciler"
)

// recordLabels are labels of objects in which dependents are recorded, by this operator or by another one.
var recordLabels = map[string]string{
	"Own": "PREFIX/inventory-owner-id: abc", "OfAnOperator": "other.example.com/inventory-owner-id: abc", "OfARelease": "clm.cs.sap.com/record: release",
}

// TestRecordsAreNotAdopted has objects in which other owners record their dependents, and which they would lose track of without
// them.
func TestRecordsAreNotAdopted(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {PREFIX/adoption-policy: POLICY}}\ndata: {value: ours}\n"
	const refusal = "ConfigMap NS/a: already exists, is part of a record of dependents (label "
	for name, label := range recordLabels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.createClaimed("labels: {" + label + "}")
			before := w.configMap("a")
			key, _, _ := strings.Cut(label, ":")
			for _, policy := range []string{"always", "if-unowned", "never"} {
				_, err := w.apply(strings.ReplaceAll(manifest, "POLICY", policy))
				w.expectRefusal(err, refusal+w.expand(key)+"), and cannot be a dependent")
			}
			request := w.request(strings.ReplaceAll(manifest, "POLICY", "if-unowned"))
			request.TakeOver = append(request.TakeOver, before)
			_, err := w.engine.Apply(t.Context(), request)
			w.expectRefusal(err, refusal)
			w.expectPlan(w.plan(strings.ReplaceAll(manifest, "POLICY", "always"), compare),
				"0 - ConfigMap NS/a! already exists, is part of a record of dependents (label "+w.expand(key)+"), and cannot be a dependent")
			w.mustDelete()
			if diff := cmp.Diff(before, w.configMap("a")); diff != "" {
				t.Errorf("a record must stay as it is (-before +after):\n%s", diff)
			}
		})
	}
}

// TestRecordsAreNotCreated has manifests that were exported along with such records.
func TestRecordsAreNotCreated(t *testing.T) {
	t.Parallel()
	for name, label := range recordLabels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			key, _, _ := strings.Cut(label, ":")
			_, err := w.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {" + label + "}}\n")
			w.expectRefusal(err, "ConfigMap a: metadata.labels: "+w.expand(key)+" marks parts of records of dependents, which cannot be dependents; leave the object out")
			if len(w.writes()) > 0 {
				t.Errorf("expected no writes, got %v", w.writes())
			}
		})
	}
}

// TestRecordsStay has a record among the dependents, as earlier versions allowed.
func TestRecordsStay(t *testing.T) {
	t.Parallel()
	const left = "is part of a record of dependents, and is left alone"
	for name, label := range recordLabels {
		for _, policy := range []reconciler.DeletePolicy{reconciler.DeletePolicyDelete, reconciler.DeletePolicyOrphan} {
			t.Run(name+string(policy), func(t *testing.T) {
				t.Parallel()
				const own, adopted = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
				w := newWorld(t)
				w.mustApply(own + adopted)
				w.patch(w.configMap("a"), `{"metadata":{"labels":{"`+strings.ReplaceAll(label, ": ", `":"`)+`"}}}`)
				for _, item := range w.owner.Inventory {
					item.DeletePolicy = policy
				}
				before := w.configMap("a")
				w.expectPlan(w.plan(own, compare), "0 - ConfigMap NS/own", "0 - ConfigMap NS/a: is no longer in the manifests; it "+left)
				result := w.mustApply(own)
				if diff := cmp.Diff("ConfigMap a: "+left, notices(result.Notes)); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
				w.expectInventory("ConfigMap own Ready Current")
				rebuilt, err := w.engine.Rebuild(t.Context(), reconciler.RebuildRequest{ID: w.owner.ID, Objects: w.request(own).Objects})
				if err != nil || rebuilt.Found != 1 {
					t.Errorf("a record is none of what is found by labels: %d found, %v", rebuilt.Found, err)
				}
				w.mustDelete()
				if diff := cmp.Diff(before, w.configMap("a")); diff != "" {
					t.Errorf("a record must stay as it is (-before +after):\n%s", diff)
				}
			})
		}
	}
}
