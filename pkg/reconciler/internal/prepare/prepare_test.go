// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/inventory"
)

// brokenMapper fails for one group, as if its API server did not answer.
type brokenMapper struct{ meta.RESTMapper }

func (m brokenMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if kind.Group == "broken.example.com" {
		return nil, errors.New("no answer")
	}
	return m.RESTMapper.RESTMapping(kind, versions...)
}

// newTypesOnly knows a few types, and nothing else.
func newTypesOnly(t testing.TB) Preparer {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind, scope := range map[schema.GroupVersionKind]meta.RESTScope{
		{Version: "v1", Kind: "ConfigMap"}:                                 meta.RESTScopeNamespace,
		{Version: "v1", Kind: "Secret"}:                                    meta.RESTScopeNamespace,
		{Version: "v1", Kind: "Namespace"}:                                 meta.RESTScopeRoot,
		{Group: GroupCRD, Version: "v1", Kind: "CustomResourceDefinition"}: meta.RESTScopeRoot,
		{Group: GroupAPIService, Version: "v1", Kind: "APIService"}:        meta.RESTScopeRoot,
		{Group: GroupRBAC, Version: "v1", Kind: "ClusterRole"}:             meta.RESTScopeRoot,
		{Group: "apps", Version: "v1", Kind: "Deployment"}:                 meta.RESTScopeNamespace,
	} {
		mapper.Add(kind, scope)
	}
	return Preparer{Scheme: testenv.Scheme(t), Mapper: brokenMapper{mapper}, Keys: NewKeys("op.example.com")}
}

func prepare(t *testing.T, namespace, documents string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	var objects, copies []client.Object
	for _, object := range testenv.Objects(t, documents) {
		objects, copies = append(objects, object), append(copies, object.DeepCopy())
	}
	prepared, _, err := newTypesOnly(t).prepareObjects(objects, namespace)
	if diff := cmp.Diff(copies, objects); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
	return prepared, err
}

func TestPrepareObjects(t *testing.T) {
	t.Parallel()
	const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, scope: SCOPE, names: {kind: Widget}, versions: []}
---
`
	for _, tc := range []struct {
		reason, documents string
		want              map[string]any // of the last object, metadata flattened
	}{
		{"the namespace is filled in", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", map[string]any{"namespace": "deploy"}},
		{"a namespace that is named stays", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}", map[string]any{"namespace": "b"}},
		{"what is cluster-scoped has none", "{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}", map[string]any{}},
		{"the scope of a definition in the set counts", strings.Replace(widgets, "SCOPE", "Namespaced", 1) + "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}", map[string]any{"namespace": "deploy"}},
		{"the scope of a definition in the set counts", strings.Replace(widgets, "SCOPE", "Cluster", 1) + "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a, namespace: b}}", map[string]any{}},
		{
			"types of an APIService in the set are not known yet",
			"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: x}, spec: {group: x.com, version: v1}}\n---\n{apiVersion: x.com/v1, kind: X, metadata: {name: a}}",
			map[string]any{},
		},
		{
			"what only the server sets is removed",
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: "5", generation: 7, creationTimestamp: null, deletionTimestamp: "2020-01-01T00:00:00Z", deletionGracePeriodSeconds: 3, selfLink: /x, managedFields: [{manager: x}]}, status: {a: 1}}`,
			map[string]any{"namespace": "deploy"},
		},
		{
			"finalizers and owner references are declared by manifests",
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [a/b], ownerReferences: [{kind: x}]}}`,
			map[string]any{"namespace": "deploy", "finalizers": []any{"a/b"}, "ownerReferences": []any{map[string]any{"kind": "x"}}},
		},
		{
			"marks are ours to set, and only those of our name",
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {op.example.com/owner-id: x, other/owner-id: z}, annotations: {op.example.com/owner-id: x, op.example.com/digest: x, op.example.com/apply-order: "1"}}}`,
			map[string]any{"namespace": "deploy", "labels": map[string]any{"other/owner-id": "z"}, "annotations": map[string]any{"op.example.com/apply-order": "1"}},
		},
		{"stringData becomes data", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: x}}", map[string]any{"namespace": "deploy", "data": map[string]any{"a": "eA=="}}},
		{"stringData wins", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a.b: x}, data: {a.b: eQ==, c: eQ==}}", map[string]any{"namespace": "deploy", "data": map[string]any{"a.b": "eA==", "c": "eQ=="}}},
		{"empty stringData leaves nothing", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {}}", map[string]any{"namespace": "deploy"}},
		{"a key without content means none", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: null, annotations: null}, data: null}", map[string]any{"namespace": "deploy"}},
		{"a key without content means none", "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: eA==}, stringData: null}", map[string]any{"namespace": "deploy", "data": map[string]any{"a": "eA=="}}},
		{"rules of an aggregated ClusterRole are a controller's", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, aggregationRule: {}, rules: []}", map[string]any{"aggregationRule": map[string]any{}}},
		{"rules of another one are not", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}, rules: []}", map[string]any{"rules": []any{}}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			prepared, err := prepare(t, "deploy", tc.documents)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for key, value := range prepared[len(prepared)-1].Object {
				if fields, ok := value.(map[string]any); ok && key == "metadata" {
					for key, value := range fields {
						got[key] = value
					}
				} else if key != "apiVersion" && key != "kind" {
					got[key] = value
				}
			}
			delete(got, "name")
			for key, value := range got {
				if fields, ok := value.(map[string]any); ok && len(fields) == 0 && tc.want[key] == nil {
					delete(got, key)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPrepareObjectsKeepsSecrets is about values that are no strings, as those of templates without quotes.
func TestPrepareObjectsKeepsSecrets(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {b: YQ==, pin: 4711}}":       `Secret a: data: all values must be strings, but that of "pin" is not`,
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: null, pin: 4711}}": `Secret a: stringData: all values must be strings, but that of "pin" is not`,
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {pin: [4711]}}":        `that of "pin" is not`,
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: 4711}":                 "Secret a: stringData: it must be a map",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: '4711'}":                     "Secret a: data: it must be a map",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {b: YQ==, pin: '4711!'}}":    `that of "pin" is not; plain text belongs in stringData`,
	} {
		_, err := prepare(t, "d", document)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: want a refusal with %s, and without the value, got %v", document, want, err)
		}
	}
}

func TestPrepareObjectsRefuses(t *testing.T) {
	t.Parallel()
	manyWidgets := ""
	for _, name := range strings.Split("abcdefg", "") {
		manyWidgets += "---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: " + name + "}}\n"
	}
	for _, tc := range []struct {
		reason, documents, namespace string
		want                         []string
	}{
		{"generated names cannot be recorded before", "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}", "d", []string{`metadata.generateName "a-" is not allowed`}},
		{"not even beside a name", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, generateName: a-}}", "d", []string{"ConfigMap a: metadata.generateName"}},
		{"no name", "{apiVersion: v1, kind: ConfigMap, metadata: {}}", "d", []string{"metadata.name is required"}},
		{"no metadata", "{apiVersion: v1, kind: ConfigMap}", "d", []string{"ConfigMap: metadata.name is required"}},
		{"metadata that is none", "{apiVersion: v1, kind: ConfigMap, metadata: x}", "d", []string{"metadata.name is required"}},
		{"a list is no object", "{apiVersion: v1, kind: List, items: []}", "d", []string{"List"}},
		{"labels are strings", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: 1}}}", "d", []string{"ConfigMap a: metadata.labels: all values must be strings"}},
		{"annotations are strings", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {x: true}}}", "d", []string{"ConfigMap a: metadata.annotations: all values must be strings"}},
		{"labels are a map", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: [x]}}", "d", []string{"ConfigMap a: metadata.labels"}},
		{"stringData are strings", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {x: 1}}", "d", []string{"Secret a: stringData: all values must be strings"}},
		{"data is a map", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {x: a}, data: x}", "d", []string{"Secret a: data"}},
		{"an unknown type", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}", "d", []string{"Widget.example.com a: type example.com/v1 Widget is unknown to the cluster"}},
		{
			"many objects of an unknown type",
			manyWidgets, "d",
			[]string{"Widget.example.com a, Widget.example.com b, Widget.example.com c, Widget.example.com d, Widget.example.com e, and 2 more: type example.com/v1 Widget is unknown to the cluster"},
		},
		{"a known type in an unknown version", "{apiVersion: apps/v9, kind: Deployment, metadata: {name: a}}", "d", []string{"Deployment a: type apps/v9 Deployment is unknown"}},
		{"no namespace to go to", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", "", []string{"ConfigMap a: metadata.namespace is required, because its owner has no namespace; a component without a namespace may have one for its dependents in spec.namespace"}},
		{"old definitions", "{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, metadata: {name: a}}", "d", []string{`version "v1beta1" is not supported; must be v1`}},
		{"old APIServices", "{apiVersion: apiregistration.k8s.io/v1beta1, kind: APIService, metadata: {name: a}}", "d", []string{`version "v1beta1" is not supported`}},
		{"twice", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", "d", []string{"ConfigMap d/a: defined more than once"}},
		{"twice, once with its namespace", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: d}}", "d", []string{"ConfigMap d/a: defined more than once"}},
		{"twice, in different namespaces that do not count", "{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: x}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: y}}", "d", []string{"Namespace a: defined more than once"}},
		{
			"twice, whatever the version",
			"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: g, scope: Cluster, names: {kind: K}}}\n---\n{apiVersion: g/v1, kind: K, metadata: {name: a}}\n---\n{apiVersion: g/v2, kind: K, metadata: {name: a}}",
			"d",
			[]string{"K a: defined more than once"},
		},
		{"all problems at once", "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: b, labels: {x: 1}}}", "d", []string{"generateName", "Secret b: metadata.labels"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			_, err := prepare(t, tc.namespace, tc.documents)
			var refused *inventory.RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("expected a refusal, got %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("expected %q in %q", want, err)
				}
			}
		})
	}
	if _, err := prepare(t, "d", "{apiVersion: broken.example.com/v1, kind: X, metadata: {name: a}}"); err == nil || errors.As(err, new(*inventory.RefusedError)) {
		t.Errorf("an API server that does not answer is nobody's fault, got %v", err)
	}
}

// unknownToScheme is a type that nobody registered.
type unknownToScheme struct{ corev1.ConfigMap }

func TestPrepareTypedObjects(t *testing.T) {
	t.Parallel()
	r := newTypesOnly(t)
	meta := metav1.ObjectMeta{Name: "a"}
	for _, tc := range []struct {
		reason string
		object client.Object
		want   string
	}{
		{"apiVersion and kind come from the scheme", &corev1.ConfigMap{ObjectMeta: meta}, ""},
		{"apiVersion and kind may be set", &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta}, ""},
		{"but not to something else", &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta}, "apiVersion and kind say /v1, Kind=Secret"},
		{"an unknown type", &unknownToScheme{corev1.ConfigMap{ObjectMeta: meta}}, "the type is not known to the scheme"},
		{"stringData of a typed Secret", &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"x": "y"}}, ""},
		{"a typed ClusterRole", &rbacv1.ClusterRole{ObjectMeta: meta}, ""},
		{"unstructured without kind", &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "metadata": map[string]any{"name": "a"}}}, `object "a": apiVersion and kind are required, got "v1" and ""`},
		{"unstructured without apiVersion", &unstructured.Unstructured{Object: map[string]any{"kind": "X", "metadata": map[string]any{"name": "a"}}}, `object "a": apiVersion and kind are required, got "" and "X"`},
		{"unstructured without anything", &unstructured.Unstructured{}, "apiVersion and kind are required"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			before := tc.object.DeepCopyObject()
			prepared, _, err := r.prepareObjects([]client.Object{tc.object}, "d")
			switch {
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want == "":
				if got := prepared[0]; got.GetAPIVersion() == "" || got.GetKind() == "" || got.GetName() != "a" || got.Object["status"] != nil {
					t.Errorf("got %v", got)
				}
			case err == nil || !strings.Contains(err.Error(), tc.want):
				t.Errorf("expected %q, got %v", tc.want, err)
			}
			if diff := cmp.Diff(before, tc.object.DeepCopyObject()); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
		})
	}
}
