// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/manifests/helm"
	"github.com/component-operator/runtime/pkg/types"
)

// postRendererFunc makes a function a post-renderer.
type postRendererFunc func(*bytes.Buffer) (*bytes.Buffer, error)

func (f postRendererFunc) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) { return f(rendered) }

// replacer is a post-renderer that replaces a text, and says so.
type replacer struct{ from, to string }

func (r replacer) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) {
	return bytes.NewBufferString(strings.ReplaceAll(rendered.String(), r.from, r.to)), nil
}

func (r replacer) Fingerprint() string { return r.from + " becomes " + r.to }

func generateWith(t *testing.T, files map[string]string, options helm.Options) ([]*unstructured.Unstructured, error) {
	t.Helper()
	generator, err := helm.New(chartWith(files), ".", options)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := generator.Generate(state{revision: 1}.context(t.Context()), "shop", "web", types.UnstructurableMap{})
	return unwrap(t, objects), err
}

func TestPostRendererSeesEverything(t *testing.T) {
	t.Parallel()
	var seen string
	objects, err := generateWith(t, map[string]string{
		"crds/a.yaml":         "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.x.io, annotations: {helm.sh/hook: pre-delete}}\n",
		"templates/hook.yaml": objectWith("helm.sh/hook", "pre-install"),
		"templates/list.yaml": "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}]\n",
	}, helm.Options{PostRenderer: postRendererFunc(func(rendered *bytes.Buffer) (*bytes.Buffer, error) {
		seen = rendered.String()
		rendered.WriteString("---\n" + strings.ReplaceAll(objectWith("helm.sh/hook", "post-install"), "job", "more"))
		return rendered, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	want := `---
# Source: demo/crds/a.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    helm.sh/hook: pre-delete
  name: as.x.io
---
# Source: demo/templates/hook.yaml
apiVersion: batch/v1
kind: Job
metadata:
  annotations:
    helm.sh/hook: pre-install
  name: job
  namespace: shop
---
# Source: demo/templates/list.yaml
apiVersion: v1
data:
  a: b
kind: ConfigMap
metadata:
  name: x
`
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("unexpected input (-want +got):\n%s", diff)
	}
	orders := map[string]string{}
	for _, object := range objects {
		orders[object.GetName()] = mapped(object)[types.AnnotationKeySuffixApplyOrder]
	}
	// The annotation in the crds folder still means nothing, and the object that was added is a hook.
	if diff := cmp.Diff(map[string]string{"as.x.io": "", "job": "-101", "x": "", "more": "101"}, orders); diff != "" {
		t.Errorf("unexpected orders (-want +got):\n%s", diff)
	}
}

func TestPostRendererFails(t *testing.T) {
	t.Parallel()
	tooMuch := postRendererFunc(func(*bytes.Buffer) (*bytes.Buffer, error) { return bytes.NewBuffer(make([]byte, 17<<20)), nil })
	const want = "rendering chart demo: post-rendering: the post-renderer returned 17825792 bytes; at most 16777216 are allowed"
	if _, err := generateWith(t, map[string]string{"templates/a.yaml": objectWith()}, helm.Options{PostRenderer: tooMuch}); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestFingerprintCoversOptions(t *testing.T) {
	t.Parallel()
	fingerprint := func(options helm.Options) string {
		generator, err := helm.New(chartWith(nil), ".", options)
		if err != nil {
			t.Fatal(err)
		}
		return generator.Fingerprint()
	}
	seen := map[string]bool{}
	for _, options := range []helm.Options{
		{}, {ReleaseService: "x"}, {PostRenderer: replacer{"a", "b"}}, {PostRenderer: replacer{"a", "c"}}, {ReleaseService: "x", PostRenderer: replacer{"a", "b"}},
	} {
		got := fingerprint(options)
		if got == "" || seen[got] || got != fingerprint(options) {
			t.Errorf("%v: got fingerprint %q", options, got)
		}
		seen[got] = true
	}
	if got := fingerprint(helm.Options{PostRenderer: postRendererFunc(nil)}); got != "" {
		t.Errorf("got fingerprint %q although nobody knows what the post-renderer does", got)
	}
}
