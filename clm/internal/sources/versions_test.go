// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/kustomize"
	"github.com/component-operator/runtime/pkg/inventory"
)

var rules = sources.Rules{Prefix: "x/", Namespace: "home"}

// parse returns the objects of a YAML stream.
func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v in %s", err, document)
		}
		if object.Object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

func apply(t *testing.T, rendered string, recorded []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	given := parse(t, rendered)
	result, err := rules.Apply(given, recorded)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parse(t, rendered), given); diff != "" {
		t.Errorf("what was given was changed (-before +after):\n%s", diff)
	}
	return result
}

// content is a versioned ConfigMap with the given value.
func content(value string, annotations ...string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, annotations: {%s}}\ndata: {value: %q}\n",
		strings.Join(append([]string{"x/versioned: 'true'"}, annotations...), ", "), value)
}

// values returns the values of all objects.
func values(objects []*unstructured.Unstructured) string {
	var all []string
	for _, object := range objects {
		value, _, _ := unstructured.NestedString(object.Object, "data", "value")
		all = append(all, value)
	}
	return strings.Join(all, " ")
}

// TestVersionsOfASequence renders one ConfigMap again and again.
func TestVersionsOfASequence(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason   string
		rendered []string
		want     []string
	}{
		{"the same again", []string{content("a"), content("a")}, []string{"a", "a"}},
		{"newest first", []string{content("a"), content("b"), content("c"), content("c")}, []string{"a", "b a", "c b a", "c b a"}},
		{"one that comes back is the newest", []string{content("a"), content("b"), content("c"), content("a"), content("d")}, []string{"a", "b a", "c b a", "a c b", "d a c b"}},
		{
			"five are kept",
			[]string{content("a"), content("b"), content("c"), content("d"), content("e"), content("f")},
			[]string{"a", "b a", "c b a", "d c b a", "e d c b a", "f e d c b"},
		},
		{"two are kept", []string{content("a"), content("b"), content("c", "x/kept-versions: '2'")}, []string{"a", "b a", "c b"}},
		{"only the present one", []string{content("a"), content("b", "x/kept-versions: '1'")}, []string{"a", "b"}},
		{"without the annotation", []string{content("a"), content("b"), strings.Replace(content("c"), "'true'", "'false'", 1)}, []string{"a", "b a", "c"}},
		{"without the object", []string{content("a"), content("b"), ""}, []string{"a", "b a", ""}},
		{"labels do not count", []string{content("a"), content("a", "other: '1'")}, []string{"a", "a"}},
	} {
		var got []string
		var recorded []*unstructured.Unstructured
		for _, rendered := range tc.rendered {
			recorded = apply(t, rendered, recorded)
			got = append(got, values(recorded))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// TestHashIsThatOfKustomize compares names with those of kustomize's generators.
func TestHashIsThatOfKustomize(t *testing.T) {
	t.Parallel()
	files := kustomize.NewMemory()
	files.Add("/kustomization.yaml", []byte("configMapGenerator: [{name: web, literals: [value=a, 'more=ü\"\\n']}]\nsecretGenerator: [{name: web, type: example.com/x, literals: [value=a]}]\n"))
	built, err := kustomize.Build(files, "/", false)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, object := range built {
		want = append(want, object.GetKind()+" "+object.GetName())
	}
	for _, object := range apply(t, `apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: any, labels: {any: any}, annotations: {x/versioned: "true"}}
data: {value: a, more: "ü\"\\n"}
---
apiVersion: v1
kind: Secret
metadata: {name: web, annotations: {x/versioned: "true"}}
type: example.com/x
data: {value: YQ==}
`, nil) {
		got = append(got, object.GetKind()+" "+object.GetName())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const referring = `apiVersion: v1
kind: ConfigMap
metadata: {name: web, annotations: {x/versioned: "true"}}
data: {value: a}
---
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: home, annotations: {x/versioned: "true", other: kept}}
data: {value: YQ==}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: elsewhere}
data: {value: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: home, labels: {app: web}, annotations: {config.kubernetes.io/local-config: "true", text: "web"}}
spec:
  replicas: 9007199254740993
  template:
    metadata: {labels: {app: web}}
    spec:
      imagePullSecrets: [{name: web}]
      containers:
      - name: web
        env: [{name: A, valueFrom: {configMapKeyRef: {name: web, key: value}}}, {name: B, value: web}, {name: C, value: "on\u007f\u0085"}]
        envFrom: [{configMapRef: {name: web}}, {secretRef: {name: web}}, {secretRef: {name: other}}]
      volumes: [{name: web, configMap: {name: web}}, {name: x, projected: {sources: [{secret: {name: web}}]}}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: web, namespace: elsewhere}
spec: {jobTemplate: {spec: {template: {spec: {volumes: [{name: web, configMap: {name: web}}]}}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, annotations: {nginx.ingress.kubernetes.io/auth-secret: web}}
spec: {tls: [{secretName: web}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: web}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [web]}]
---
apiVersion: v1
kind: Pod
metadata: {generateName: web-}
spec: {volumes: [{name: web, configMap: {name: web}}]}
`

// TestReferences compares all objects that refer to versions with what they were before. Everything but the references
// must stay.
func TestReferences(t *testing.T) {
	t.Parallel()
	result := apply(t, referring, nil)
	before := parse(t, referring)
	config, secret := result[0].GetName(), result[1].GetName()
	want := strings.NewReplacer(
		"configMapKeyRef: {name: web", "configMapKeyRef: {name: "+config,
		"configMapRef: {name: web", "configMapRef: {name: "+config,
		"configMap: {name: web", "configMap: {name: "+config,
		"secretRef: {name: web", "secretRef: {name: "+secret,
		"secret: {name: web", "secret: {name: "+secret,
		"imagePullSecrets: [{name: web", "imagePullSecrets: [{name: "+secret,
		"auth-secret: web", "auth-secret: "+secret,
		"secretName: web", "secretName: "+secret,
		"resourceNames: [web", "resourceNames: ["+config,
		`{name: web, annotations: {x/versioned: "true"}}`, "{name: "+config+", annotations: {x/version-of: web}}",
		`{name: web, namespace: home, annotations: {x/versioned: "true"`, "{name: "+secret+`, namespace: home, annotations: {x/version-of: web`,
	).Replace(referring)
	expected := parse(t, want)
	// It is in another namespace.
	expected[4] = before[4]
	if diff := cmp.Diff(expected, result); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := rules.Apply(result, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result, again); diff != "" {
		t.Errorf("the result changes if it is rendered (-before +after):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	object := func(kind, metadata string) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: %s\nmetadata: {%s}\n", kind, metadata)
	}
	long := strings.Repeat("a", 243)
	for _, tc := range []struct{ reason, rendered, want string }{
		{"a bad value", object("ConfigMap", "name: a, annotations: {x/versioned: 'yes'}"), `ConfigMap a: annotation x/versioned: invalid value "yes"; must be one of: true, false`},
		{"none kept", content("a", "x/kept-versions: '0'"), `ConfigMap web: annotation x/kept-versions: invalid value "0"; must be an integer from 1 to 100`},
		{
			"versions of what has none", object("ConfigMap", "name: a, annotations: {x/kept-versions: '2'}"),
			"ConfigMap a: annotation x/kept-versions: it has no effect without x/versioned; set that to true",
		},
		{"another kind", object("Service", "name: a, annotations: {x/versioned: 'true'}"), `Service a: annotation x/versioned: value "true" is allowed only on ConfigMaps and Secrets`},
		{
			"a generated name", object("Secret", "generateName: a-, namespace: b, annotations: {x/versioned: 'true'}"),
			`Secret b/a-: annotation x/versioned: the suffix of a version needs metadata.name, got generateName "a-"; set metadata.name instead`,
		},
		{
			"too long a name", object("Secret", "name: "+long+", annotations: {x/versioned: 'true'}"),
			"Secret " + long + ": annotation x/versioned: name " + long + "-2bg6t6bf6t, with the suffix of the version, has 254 characters; must be no more than 253",
		},
		{
			"a version already", content("a", "x/version-of: b"),
			`ConfigMap web: annotation x/version-of: it has value "b", so the object is already a version; must have only one of x/version-of and x/versioned`,
		},
		{
			"a hook", content("a", "x/deletion-hook: pre-delete"),
			`ConfigMap web: annotation x/deletion-hook: invalid value "pre-delete"; a versioned object cannot be a hook; must have only one of x/deletion-hook and x/versioned`,
		},
		{
			"all at once", object("Secret", "name: b, annotations: {x/versioned: x}") + object("Secret", "name: a, annotations: {x/versioned: x}"),
			`Secret a: annotation x/versioned: invalid value "x"; must be one of: true, false; Secret b: annotation x/versioned: invalid value "x"; must be one of: true, false`,
		},
	} {
		_, err := rules.Apply(parse(t, tc.rendered), nil)
		var refused *inventory.RefusedError
		if !errors.As(err, &refused) || err.Error() != tc.want {
			t.Errorf("%s:\nwant %s\ngot  %v", tc.reason, tc.want, err)
		}
	}
}
