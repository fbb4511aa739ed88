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
	result := w.once(manifest)
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

func TestRefusalsLeaveEverythingAlone(t *testing.T) {
	t.Parallel()
	const good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n---\n"
	configMap := func(annotations string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, annotations: {" + annotations + "}}\n"
	}
	namespace := func(annotations string) string {
		return "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS-in, annotations: {" + annotations + "}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: in, namespace: NS-in}\n"
	}
	for name, tc := range map[string]struct {
		reason, manifests string
		want              []string
	}{
		"UpdatePolicy":     {"a typo must not mean the default", configMap("PREFIX/update-policy: ssa"), []string{"PREFIX/update-policy", `"ssa"`, "recreate, replace, ssa-merge, ssa-override"}},
		"ApplyOrder":       {"orders are bounded integers", configMap(`PREFIX/apply-order: "32768"`), []string{"PREFIX/apply-order", `"32768"`, "integer from -32768 to 32767"}},
		"GenerateName":     {"names must be known", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: bad-}\n", []string{"metadata.generateName"}},
		"UnknownType":      {"nothing defines the type", "apiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: bad}\n", []string{"Nothing.example.com bad", "unknown to the cluster"}},
		"NamespaceTooLate": {"a namespace comes before its content", namespace(`PREFIX/apply-order: "1"`), []string{"ConfigMap NS-in/in: apply order 0 is not allowed; it must be at least that of Namespace NS-in (1)"}},
		"Foreign": {
			"a stolen object is found before anything is written", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: foreign}\n",
			[]string{"ConfigMap NS/foreign: already exists and has another owner, but its adoption policy is if-unowned"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: foreign, labels: {PREFIX/owner-id: other}}\n")
			_, err := w.apply(good + tc.manifests)
			w.expectRefusal(err, tc.want...)
			if w.configMap("good") != nil {
				t.Errorf("%s: nothing must be written", tc.reason)
			}
			if writes := w.writes(); len(writes) > 0 || w.saves > 0 {
				t.Errorf("%s: expected no writes, got %v and %d saves", tc.reason, writes, w.saves)
			}
		})
	}
}
