// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

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
		"AdoptionPolicy":    {"a typo must not mean the default", configMap("PREFIX/adoption-policy: maybe"), []string{"ConfigMap NS/bad: annotation PREFIX/adoption-policy", `"maybe"`, "never, if-unowned, always"}},
		"ReconcilePolicy":   {"a typo must not mean the default", configMap("PREFIX/reconcile-policy: twice"), []string{"PREFIX/reconcile-policy", `"twice"`, "on-object-change, on-object-or-component-change, once"}},
		"UpdatePolicy":      {"a typo must not mean the default", configMap("PREFIX/update-policy: ssa"), []string{"PREFIX/update-policy", `"ssa"`, "recreate, replace, ssa-merge, ssa-override"}},
		"DeletePolicy":      {"a typo must not mean the default", configMap("PREFIX/delete-policy: keep"), []string{"PREFIX/delete-policy", `"keep"`, "delete, orphan, orphan-on-apply, orphan-on-delete"}},
		"DriftPolicy":       {"a typo must not mean the default", configMap("PREFIX/drift-policy: warn"), []string{"PREFIX/drift-policy", `"warn"`, "correct, report, ignore"}},
		"ApplyOrder":        {"orders are bounded integers", configMap(`PREFIX/apply-order: "32768"`), []string{"PREFIX/apply-order", `"32768"`, "integer from -32768 to 32767"}},
		"DeleteOrder":       {"orders are integers", configMap(`PREFIX/delete-order: last`), []string{"PREFIX/delete-order", `"last"`}},
		"PurgeOrder":        {"orders are integers", configMap(`PREFIX/purge-order: "1.5"`), []string{"PREFIX/purge-order", `"1.5"`}},
		"ReapplyInterval":   {"an interval must not occupy the operator", configMap(`PREFIX/reapply-interval: 1ms`), []string{"PREFIX/reapply-interval", `"1ms"`, "duration of at least 1s"}},
		"StatusHint":        {"hints are checked up front", configMap(`PREFIX/status-hint: has-luck`), []string{"PREFIX/status-hint", `"has-luck"`, "has-observed-generation"}},
		"GenerateName":      {"names must be known", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: bad-}\n", []string{"metadata.generateName"}},
		"UnknownType":       {"nothing defines the type", "apiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: bad}\n", []string{"Nothing.example.com bad", "unknown to the cluster"}},
		"Duplicate":         {"one object, one manifest", configMap("") + "---\n" + configMap(""), []string{"ConfigMap NS/bad: defined more than once"}},
		"PurgeNamespace":    {"others depend on it", namespace(`PREFIX/purge-order: "0"`), []string{"Namespace NS-in: a purge order is not allowed"}},
		"NamespaceTooLate":  {"a namespace comes before its content", namespace(`PREFIX/apply-order: "1"`), []string{"ConfigMap NS-in/in: apply order 0 is not allowed; it must be at least that of Namespace NS-in (1)"}},
		"NamespaceTooEarly": {"a namespace goes after its content", namespace(`PREFIX/delete-order: "-1"`), []string{"delete order 0 is not allowed; it must be at most that of Namespace NS-in (-1)"}},
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

func TestTypesMustSurroundInstances(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, crd, instance, want string
	}{
		"TooEarly": {"an instance needs its type", `PREFIX/apply-order: "1"`, "", "apply order 0 is not allowed"},
		"TooLate":  {"a type must not go before its instances", "", `PREFIX/delete-order: "1"`, "delete order 1 is not allowed"},
		"Purged":   {"a type is not for the moment", `PREFIX/purge-order: "0"`, "", "a purge order is not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t)
			manifests := strings.Replace(customType, "{name: widgets.GROUP}", "{name: widgets.GROUP, annotations: {"+tc.crd+"}}", 1) + "---" +
				strings.Replace(widget, "{name: NAME}", "{name: own, annotations: {"+tc.instance+"}}", 1)
			_, err := ty.apply(ty.expand(manifests))
			ty.expectRefusal(err, tc.want)
		})
	}
}

func TestServerRefusalNamesTheObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.apply("apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 70000}]}\n")
	w.expectRefusal(err, "Service NS/bad: rejected by the API server", "70000")
	_, err = w.apply("apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: many}\n")
	w.expectRefusal(err, "Service NS/bad: rejected by the API server", "ports")
	_, err = w.apply("apiVersion: v1\nkind: LimitRange\nmetadata: {name: bad}\nspec: {limits: [{type: Container, max: {cpu: 1x}}]}\n")
	w.expectRefusal(err, "LimitRange NS/bad: rejected by the API server", "quantities")
	for list, key := range map[string]string{
		"env: [{name: A, value: one}, {name: A, value: two}]":                              `[name="A"]`,
		"ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 8080}]": `[containerPort=8080,protocol="TCP"]`,
	} {
		manifest := "apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: [{name: main, image: example.com/none, " + list + "}]}\n"
		_, err = w.apply(manifest)
		const remedy = "; server-side apply accepts each key only once: keep one of these entries in the manifest (of environment variables, the last one counts)"
		w.expectRefusal(err, "Pod NS/bad: rejected by the API server", "duplicate entries for key "+key+remedy)
	}
}

// TestPatternsThatMatchNothing are refused wherever they come from: they would protect nothing.
func TestPatternsThatMatchNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.owner.AdditionalManagedTypes = []reconciler.TypeInfo{
		{Group: "*", Kind: "*"}, {Group: "*.example.io", Kind: "Thing"}, {Kind: "Pod"}, {Group: "a.*.b", Kind: "A"}, {Group: "example.io", Kind: "Foo*"}, {Group: "*example.io", Kind: ""},
	}
	want := []string{
		`additionalManagedTypes[3].group: invalid value "a.*.b"; must be the name of a group, empty for the core group, *, or *. followed by the end of a name, as in *.example.com`,
		`additionalManagedTypes[4].kind: invalid value "Foo*"; must be the name of a kind, or *`,
		`additionalManagedTypes[5].group: invalid value "*example.io"`, `additionalManagedTypes[5].kind: invalid value ""`,
	}
	_, err := w.apply(configMapsNamed("a"))
	w.expectRefusal(err, want...)
	_, err = w.engine.CheckDeletion(t.Context(), reconciler.DeleteRequest{Owner: w.owner})
	w.expectRefusal(err, want...)
	if _, err := reconciler.New("a.example.io", newClusterClient(t, testenv.Config(t)), reconciler.Options{AdditionalManagedTypes: w.owner.AdditionalManagedTypes}); err == nil {
		t.Error("the option is accepted")
	}
}
