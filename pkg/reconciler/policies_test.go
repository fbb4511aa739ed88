// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

const existing = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {mine: "0", theirs: "0"}
`

func TestAdoption(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/adoption-policy: POLICY, PREFIX/update-policy: UPDATE}}
data: {mine: "1"}
`
	for name, tc := range map[string]struct {
		reason, policy, update string
		owned                  bool
		want                   string // "" for a refusal
	}{
		"NeverUnowned":      {"never means never", "never", "replace", false, ""},
		"NeverOwned":        {"never means never", "Never", "replace", true, ""},
		"IfUnownedUnowned":  {"an object without owner is adopted", "if-unowned", "replace", false, "Adopted"},
		"IfUnownedOwned":    {"an object with an owner is left to it", "ifUnowned", "replace", true, ""},
		"AlwaysUnowned":     {"always means always", "always", "ssa-merge", false, "Adopted"},
		"AlwaysOwned":       {"always means always", "Always", "ssa-override", true, "Adopted"},
		"RecreateUnowned":   {"adoption and recreation go together", "if-unowned", "recreate", false, "Adopted"},
		"RecreateOwnedDont": {"recreation does not bypass adoption", "if-unowned", "recreate", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(existing)
			before := w.configMap("a")
			if tc.owned {
				w.patch(before, `{"metadata":{"labels":{"PREFIX/owner-id":"other"}}}`)
			}
			manifest := strings.NewReplacer("POLICY", tc.policy, "UPDATE", tc.update).Replace(manifest)
			result, err := w.apply(manifest)
			if tc.want == "" {
				w.expectRefusal(err, "ConfigMap NS/a: already exists", "adoption policy is")
				if after := w.configMap("a"); after.GetResourceVersion() != before.GetResourceVersion() {
					t.Error("a refused object must not be touched")
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			w.expectActions(result, tc.want+" ConfigMap a")
			w.expectInventory("ConfigMap a Ready Current")
			after := w.configMap("a")
			if data := after.Object["data"].(map[string]any); data["mine"] != "1" {
				t.Errorf("%s: expected our value, got %v", tc.reason, data)
			}
			if recreated := after.GetUID() != before.GetUID(); recreated != (tc.update == "recreate") {
				t.Errorf("recreated: %v", recreated)
			}
		})
	}
}

func TestUpdatePolicies(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/update-policy: POLICY}}
data: {VALUES}
`
	for name, tc := range map[string]struct {
		reason, policy string
		want           map[string]any
		recreated      bool
	}{
		"Replace":     {"what others added goes", "replace", map[string]any{"b": "2"}, false},
		"Default":     {"the deprecated value is the default, replace", "default", map[string]any{"b": "2"}, false},
		"SsaMerge":    {"what others added stays", "ssa-merge", map[string]any{"b": "2", "kubectl": "x", "somebody": "x"}, false},
		"SsaOverride": {"what kubectl added goes, the rest stays", "ssa-override", map[string]any{"b": "2", "somebody": "x"}, false},
		"Recreate":    {"the object is a new one", "recreate", map[string]any{"b": "2"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifest := strings.ReplaceAll(manifest, "POLICY", tc.policy)
			w.mustApply(strings.ReplaceAll(manifest, "VALUES", `a: "1", b: "1"`))
			before := w.configMap("a")
			w.patchAs(w.configMap("a"), `{"data":{"kubectl":"x"}}`, "kubectl-edit")
			w.patchAs(w.configMap("a"), `{"data":{"somebody":"x"},"metadata":{"finalizers":["example.com/keep"]}}`, "somebody")
			if tc.recreated {
				w.patch(w.configMap("a"), `{"metadata":{"finalizers":null}}`)
			}
			result := w.mustApply(strings.ReplaceAll(manifest, "VALUES", `b: "2"`))
			w.expectActions(result, "Updated ConfigMap a")
			after := w.configMap("a")
			if diff := diffData(tc.want, after); diff != "" {
				t.Errorf("%s: data (-want +got):\n%s", tc.reason, diff)
			}
			if recreated := after.GetUID() != before.GetUID(); recreated != tc.recreated {
				t.Errorf("%s: recreated: %v", tc.reason, recreated)
			}
			if !tc.recreated && len(after.GetFinalizers()) != 1 {
				t.Errorf("finalizers of others must stay, got %v", after.GetFinalizers())
			}
			w.patch(after, `{"metadata":{"finalizers":null}}`)
		})
	}
}

func TestReconcilePolicies(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/reconcile-policy: POLICY}}
data: {value: "VALUE"}
`
	for name, tc := range map[string]struct {
		reason, policy, value, digest string
		want                          bool
	}{
		"OnChangeNothing":        {"nothing changed", "on-object-change", "1", "d", false},
		"OnChangeComponent":      {"the component does not matter", "on-object-change", "1", "other", false},
		"OnChangeObject":         {"the manifest changed", "OnObjectChange", "2", "d", true},
		"ComponentNothing":       {"nothing changed", "on-object-or-component-change", "1", "d", false},
		"ComponentChangedObject": {"the manifest changed", "on-object-or-component-change", "2", "d", true},
		"ComponentChanged":       {"the component changed", "on-object-or-component-change", "1", "other", true},
		"OnceObject":             {"once is once", "once", "2", "d", false},
		"OnceComponent":          {"once is once", "once", "1", "other", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifest := strings.ReplaceAll(manifest, "POLICY", tc.policy)
			w.mustApply(strings.ReplaceAll(manifest, "VALUE", "1"))
			w.digest = tc.digest
			change := w.plan(strings.ReplaceAll(manifest, "VALUE", tc.value), reconciler.PlanOptions{}).Changes[0]
			if repeats := tc.want && tc.value == "1"; change.Repeats != repeats || (change.Verb == reconciler.VerbUpdated) != tc.want {
				t.Errorf("%s: want the plan to say %t, and that a manifest repeats: %t; got %+v", tc.reason, tc.want, repeats, change)
			}
			result := w.mustApply(strings.ReplaceAll(manifest, "VALUE", tc.value))
			if tc.want {
				w.expectActions(result, "Updated ConfigMap a")
			} else {
				w.expectActions(result)
			}
			w.expectInventory("ConfigMap a Ready Current")
		})
	}
}

func TestOnceIsNeitherCorrectedNorGivenUp(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/reconcile-policy: once}}
data: {value: "1"}
`
	w := newWorld(t)
	w.mustApply(manifest)
	w.patch(w.configMap("a"), `{"data":{"value":"2"}}`)
	w.expectActions(w.mustApply(manifest))
	if diff := diffData(map[string]any{"value": "2"}, w.configMap("a")); diff != "" {
		t.Errorf("the content of an object that is applied once belongs to others (-want +got):\n%s", diff)
	}
	w.remove(w.configMap("a"))
	result := w.settle(manifest, func(result reconciler.Result) (bool, string) {
		return len(result.Actions) > 0, "want the object to be created again"
	})
	w.expectActions(result, "Restored ConfigMap a")
}

func TestDeletePolicies(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {PREFIX/delete-policy: POLICY}}
`
	for policy, stays := range map[string]struct{ onApply, onDelete bool }{
		"delete":           {false, false},
		"default":          {false, false},
		"orphan":           {true, true},
		"orphan-on-apply":  {true, false},
		"OrphanOnDelete":   {false, true},
		"orphan-on-delete": {false, true},
	} {
		for _, deleted := range []bool{false, true} {
			name, want := policy+"OnApply", stays.onApply
			if deleted {
				name, want = policy+"OnDelete", stays.onDelete
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.mustApply(strings.ReplaceAll(manifest, "POLICY", policy))
				if deleted {
					w.mustDelete()
				} else {
					w.mustApply("")
				}
				w.expectInventory()
				left := w.configMap("a")
				if (left != nil) != want {
					t.Fatalf("left over: %v", left != nil)
				}
				if left == nil {
					return
				}
				for key := range left.GetLabels() {
					if strings.HasPrefix(key, prefix) {
						t.Errorf("the label %s must not stay", key)
					}
				}
				if annotations := left.GetAnnotations(); annotations[prefix+"/owner-id"] != "" {
					t.Errorf("marks must not stay, got %v", annotations)
				}
				// Any owner may adopt it now.
				other := newWorld(t)
				other.owner.ID, other.namespace, other.owner.Namespace = "other", w.namespace, w.namespace
				other.expectActions(other.mustApply(strings.ReplaceAll(manifest, "POLICY", "delete")), "Adopted ConfigMap a")
			})
		}
	}
}

func TestDeletionSparesWhatBelongsToOthers(t *testing.T) {
	t.Parallel()
	const manifests = `
apiVersion: v1
kind: ConfigMap
metadata: {name: stolen}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: replaced}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: unlabelled}
`
	w := newWorld(t)
	w.mustApply(manifests)
	w.patch(w.configMap("stolen"), `{"metadata":{"labels":{"PREFIX/owner-id":"other"}}}`)
	w.remove(w.configMap("replaced"))
	w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: replaced}")
	w.patch(w.configMap("unlabelled"), `{"metadata":{"labels":{"PREFIX/owner-id":null}}}`)
	w.mustDelete()
	if w.configMap("stolen") == nil {
		t.Error("an object that another owner has taken over must stay")
	}
	if w.configMap("replaced") == nil {
		t.Error("an object of another UID without our label must stay")
	}
	if w.configMap("unlabelled") != nil {
		t.Error("an object of the recorded UID is ours, whether or not somebody took the label off")
	}
}

func TestMissingNamespaces(t *testing.T) {
	t.Parallel()
	const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: NS-more}
`
	w := newWorld(t)
	w.policies.MissingNamespaces = reconciler.MissingNamespacesPolicyDoNotCreate
	result, err := w.apply(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if want := "ConfigMap a: namespace " + w.namespace + "-more does not exist"; notices(result.Waits) != want {
		t.Errorf("expected %q, got %q", want, notices(result.Waits))
	}
	if result.RequeueAfter == 0 {
		t.Error("no event tells of a new namespace, so there must be a timer")
	}
	w.policies.MissingNamespaces = reconciler.MissingNamespacesPolicyCreate
	w.mustApply(manifest)
	w.mustDelete()
	namespace := w.get("v1", "Namespace", "NS-more")
	if namespace == nil || namespace.GetDeletionTimestamp() != nil {
		t.Fatal("a namespace that was created because it was missing must stay")
	}
	if len(namespace.GetAnnotations()) != 0 {
		t.Errorf("it must not carry marks, got %v", namespace.GetAnnotations())
	}
	w.remove(namespace)
}
