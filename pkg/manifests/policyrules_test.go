// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
)

// rulesFor parses rules and makes a transformer of them.
func rulesFor(t *testing.T, text string) *manifests.PolicyRulesObjectTransformer {
	t.Helper()
	rules, err := manifests.ParsePolicyRules([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	transformer, err := manifests.NewPolicyRulesObjectTransformer(rules)
	if err != nil {
		t.Fatal(err)
	}
	return transformer
}

func TestPolicyRulesMatch(t *testing.T) {
	t.Parallel()
	objects := map[string]client.Object{
		"typed":   &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web-a", Labels: map[string]string{"app": "x"}}},
		"web":     object(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web-b, namespace: other, labels: {app: z}}}"),
		"foreign": object(t, "{apiVersion: example.com/v1, kind: Deployment, metadata: {name: web-c, namespace: release-ns}}"),
		"role":    object(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'demo:Web', labels: {app: x}}}"),
	}
	for _, tc := range []struct {
		reason, match string
		want          []string
	}{
		{"no condition", "{}", []string{"foreign", "role", "typed", "web"}},
		{"a kind of a group", "{kind: Deployment.apps}", []string{"typed", "web"}},
		{"a pattern", `{name: "web-[ab]"}`, []string{"typed", "web"}},
		{"a namespace", "{namespace: other}", []string{"web"}},
		{"no namespace means that of the component's objects", `{namespace: "release-*"}`, []string{"foreign", "role", "typed"}},
		{"sets of labels", `{labels: "app in (x, z), app != z"}`, []string{"role", "typed"}},
		{"all conditions must hold", `{kind: Deployment, name: "web-*", namespace: release-ns, labels: app}`, []string{"typed"}},
	} {
		transformer := rulesFor(t, "- {match: "+tc.match+", set: {apply-order: 2}}")
		var matched []string
		for _, name := range []string{"foreign", "role", "typed", "web"} {
			got, err := transform(t, transformer, objects[name])
			if err != nil {
				t.Fatal(err)
			}
			if got[0].GetAnnotations()["demo.example.io/apply-order"] == "2" {
				matched = append(matched, name)
			} else if got[0] != objects[name] {
				t.Errorf("%s: %s was copied", tc.reason, name)
			}
		}
		if diff := cmp.Diff(tc.want, matched); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tc.reason, tc.match, diff)
		}
	}
}

func TestPolicyRulesPrecedence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, rules, own, want string
	}{
		{"later rules win, key by key", "[{set: {apply-order: 1, delete-order: 1}}, {set: {apply-order: 2}}]", "{}", "{apply-order: '2', delete-order: '1'}"},
		{"what the object has wins", "- set: {apply-order: 1, delete-order: 1}", "{apply-order: '7'}", "{apply-order: '7', delete-order: '1'}"},
		{"unless the rule overrides", "- {override: true, set: {apply-order: 1, delete-order: 1}}", "{apply-order: '7'}", "{apply-order: '1', delete-order: '1'}"},
		{"a later rule that overrides nothing yields to the object only", "[{override: true, set: {apply-order: 1}}, {set: {apply-order: 2}}]", "{apply-order: '7'}", "{apply-order: '1'}"},
	} {
		prefixed := func(text string) *metav1.ObjectMeta {
			annotations := map[string]string{}
			for key, value := range object(t, "{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: "+text+"}}").GetAnnotations() {
				annotations["demo.example.io/"+key] = value
			}
			return &metav1.ObjectMeta{Annotations: annotations}
		}
		given := configMap("", "a", nil)
		given.Annotations = prefixed(tc.own).Annotations
		got, err := transform(t, rulesFor(t, tc.rules), given)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(prefixed(tc.want).Annotations, got[0].GetAnnotations()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

func TestParsePolicyRules(t *testing.T) {
	t.Parallel()
	got, err := manifests.ParsePolicyRules([]byte(`# rules of the shop
---
- match:
    kind: StatefulSet
    name: "*-db"
    namespace: shop
    labels: app=shop
  set:
    apply-order: -10
    delete-policy: orphan
    reapply-interval: 90m
  override: true
- set: {status-hint: "conditions=A;B"}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []manifests.PolicyRule{
		{
			Match:    manifests.PolicyMatch{Kind: "StatefulSet", Name: "*-db", Namespace: "shop", Labels: "app=shop"},
			Set:      map[string]string{"apply-order": "-10", "delete-policy": "orphan", "reapply-interval": "90m"},
			Override: true,
		},
		{Set: map[string]string{"status-hint": "conditions=A;B"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, empty := range []string{"", "# nothing\n", "---\n", "[]"} {
		if rules, err := manifests.ParsePolicyRules([]byte(empty)); err != nil || len(rules) > 0 {
			t.Errorf("%q: got %v, %v; want no rules", empty, rules, err)
		}
	}
}

func TestPolicyRulesRefuse(t *testing.T) {
	t.Parallel()
	const suffixes = "adoption-policy, apply-hook, apply-order, await, crd-upgrade-policy, delete-order, delete-policy, delete-propagation, deletion-hook, drift-policy, fail-when, ignore-fields, kept-versions, missing-type-policy, prune-policy, purge-on-failure, purge-order, ready-timeout, ready-timeout-policy, ready-when, reapply-interval, reconcile-policy, recreate-if-immutable, release-hook, status-hint, update-policy, versioned"
	const namespaces = `a pattern that a namespace can match, such as "demo" or "demo-*"`
	for _, tc := range []struct{ reason, rules, want string }{
		{"no list", "{match: {}}", "it must be a list of rules, each with match and set: "},
		{"an unknown field", "- {set: {apply-order: 1}, mach: {}}", `unknown field "mach"`},
		{"an empty condition would match all", "- {set: {apply-order: 1}, match: {name: ''}}", `invalid condition ""; must be a non-empty string`},
		{"no value", "- set: {apply-order: }", "invalid value null of an annotation; must be a string, number or boolean"},
		{"nothing is set", "- match: {name: a}", "rule 1: set: at least one of these annotations is required: " + suffixes},
		{"an unknown annotation", "- set: {aply-order: 1}", `rule 1: set: unknown annotation "aply-order"; must be one of: ` + suffixes},
		{"a bad value", "- set: {delete-policy: keep}", `rule 1: set.delete-policy: invalid value "keep"; must be one of: delete, orphan, orphan-on-apply, orphan-on-delete`},
		{"a kind with the wrong case", "- {set: {apply-order: 1}, match: {kind: statefulset}}", `rule 1: match.kind: invalid value "statefulset"; must be StatefulSet`},
		{"no namespace has capitals", "- {set: {apply-order: 1}, match: {namespace: 'Demo*'}}", `rule 1: match.namespace: invalid value "Demo*"; must be ` + namespaces},
		{"no selector", "- {set: {apply-order: 1}, match: {labels: 'a=b=c'}}", `rule 1: match.labels: invalid value "a=b=c"; must be a label selector such as "app=web,tier in (a, b),!legacy" (`},
		{"two values", "[]\n[{set: {apply-order: 1}, match: {kind: A}}]", "line 2: another value begins here"},
	} {
		_, err := manifests.ParsePolicyRules([]byte(tc.rules))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error\n%v\nwant one with\n%s", tc.reason, err, tc.want)
		}
	}
	t.Run("all problems are told at once", func(t *testing.T) {
		t.Parallel()
		_, err := manifests.NewPolicyRulesObjectTransformer([]manifests.PolicyRule{
			{},
			{Set: map[string]string{"apply-order": "x", "delete-order": "y"}, Match: manifests.PolicyMatch{Kind: "-", Name: "/", Namespace: "_", Labels: ","}},
		})
		for _, want := range []string{"rule 1: set: ", "; rule 2: match.kind", "match.name", "match.namespace", "match.labels", "set.apply-order", "set.delete-order"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one with %q", err, want)
			}
		}
	})
}

func TestPolicyRulesNeedToKnow(t *testing.T) {
	t.Parallel()
	transformer := rulesFor(t, "- set: {apply-order: 1}")
	_, err := transformer.TransformObjects("ns", "name", []client.Object{configMap("", "a", nil)})
	if err == nil || !strings.HasPrefix(err.Error(), "reconciler name not found in context: ") {
		t.Errorf("whose annotations they are: got error %v", err)
	}
	const want = `object "a": the scheme does not know the type *manifests_test.unknownType; set apiVersion and kind`
	if _, err := transform(t, transformer, &unknownType{ConfigMap: *configMap("", "a", nil)}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("what the object is: got error %v, want one with %s", err, want)
	}
}
