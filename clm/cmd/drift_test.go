// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const drifting = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: example.com/none}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: edited}
data: {value: "1", other: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone}
data: {value: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: reported, annotations: {clm.cs.sap.com/drift-policy: report}}
data: {value: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ignored, annotations: {clm.cs.sap.com/drift-policy: ignore}}
data: {value: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: untouched}
data: {value: "1"}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {value: very-secret}
`

// as changes an object as another program does.
func (p *place) as(manager string, gvk schema.GroupVersionKind, name, patch string) {
	p.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	object.SetNamespace(p.namespace)
	object.SetName(name)
	if err := p.client.Patch(p.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager)); err != nil {
		p.Fatal(err)
	}
}

var (
	configMapKind  = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	secretKind     = corev1.SchemeGroupVersion.WithKind("Secret")
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

func (p *place) remove(gvk schema.GroupVersionKind, name string) {
	p.Helper()
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	object.SetGroupVersionKind(gvk)
	if err := p.client.Delete(p.Context(), object); err != nil {
		p.Fatal(err)
	}
}

var (
	someAge  = regexp.MustCompile(`\b\d+[smh](\d+[sm])? ago`)
	someFile = regexp.MustCompile(`/\S+/(\w+\.yaml)`)
	someHash = regexp.MustCompile(`\b[a-z2-7]{52}\b`)
	someTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

// stable replaces what is different each time.
func (p *place) stable(text string) string {
	text = strings.ReplaceAll(text, p.namespace, "PLACE")
	text = someFile.ReplaceAllString(text, "DIR/$1")
	text = someHash.ReplaceAllString(text, "HASH")
	text = someAge.ReplaceAllString(text, "AGE ago")
	return someTime.ReplaceAllString(text, "TIME")
}

func TestDrift(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", drifting))
	if got := p.must("drift", "web", "--exit-code"); !strings.Contains(got.stdout, "has not drifted from revision 1") {
		t.Errorf("nobody has changed anything, got %s", got.stdout)
	}
	p.as("kubectl-edit", deploymentKind, "web", `{"spec":{"replicas":2}}`)
	p.as("kubectl-edit", configMapKind, "edited", `{"data":{"value":"2"}}`)
	p.as("kubectl-patch", configMapKind, "edited", `{"data":{"more":"3","other":null}}`)
	p.as("someone", configMapKind, "reported", `{"data":{"value":"2"}}`)
	p.as("someone", configMapKind, "ignored", `{"data":{"value":"2"}}`)
	p.as("someone", secretKind, "password", `{"data":{"value":"cHVibGlj"}}`)
	p.remove(configMapKind, "gone")

	got := p.clm("drift", "web", "--exit-code")
	if got.code != exitChanges {
		t.Errorf("expected exit code %d, got %d: %s", exitChanges, got.code, got.stderr)
	}
	expectGolden(t, "drift.txt", p.stable(got.stdout))
	if strings.Contains(got.stdout, "very-secret") || strings.Contains(got.stdout, "cHVibGlj") {
		t.Error("values of Secrets must not be shown")
	}
	expectGolden(t, "drift.json", p.stable(p.must("drift", "web", "-o", "json").stdout))

	p.must("drift", "web", "--correct", "--yes")
	if diff := cmp.Diff(map[string]string{"value": "1", "other": "1"}, p.configMap("edited")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"value": "1"}, p.configMap("gone")); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"reported", "ignored"} {
		if diff := cmp.Diff(map[string]string{"value": "2"}, p.configMap(name)); diff != "" {
			t.Errorf("%s was not to be touched: %s", name, diff)
		}
	}
	if revisions := p.items(p.must("history", "web", "-o", "json").stdout); len(revisions) != 1 {
		t.Errorf("healing is no new revision, got %d", len(revisions))
	}
	var left []string
	for _, item := range p.items(p.must("drift", "web", "-o", "json").stdout) {
		left = append(left, p.text(item, "status", "object", "name")+" "+p.text(item, "status", "state"))
	}
	if diff := cmp.Diff([]string{"ignored LeftAlone", "reported LeftAlone"}, left); diff != "" {
		t.Error(diff)
	}
	p.must("delete", "web", "--yes")
}
