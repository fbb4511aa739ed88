// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	kustomizetypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/types"
)

// options is a shorter name.
type options = kustomize.Options

// files are files by their paths; the kustomization is in folder app.
type files map[string]string

// with returns the files plus, or overridden by, the given ones.
func (f files) with(more files) files {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

func (f files) fs() fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range f {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

// dir writes the files to a folder of the operating system, and returns it.
func (f files) dir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range f {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// configMap is a manifest whose data consists of the given lines.
func configMap(name string, lines ...string) string {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
	if len(lines) > 0 {
		text += "data:\n  " + strings.Join(lines, "\n  ") + "\n"
	}
	return text
}

// deployment is a manifest in which most transformers find something to do.
func deployment(name string) string {
	return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ` + name + `
spec:
  replicas: 1
  selector: {matchLabels: {app: ` + name + `}}
  template:
    metadata: {labels: {app: ` + name + `}}
    spec:
      containers:
      - name: main
        image: example.io/` + name + `:v1
        resources: {limits: {memory: 1Gi, cpu: 0.5}}
        envFrom: [{configMapRef: {name: settings}}]
`
}

var defaultSchema = openapi.GetSchemaVersion()

// reference returns what Kustomize's own command makes of the files. It must not be called while something else is
// built, since Kustomize uses global variables; so no test that calls it is parallel.
func reference(t *testing.T, dir string) []map[string]any {
	t.Helper()
	// What an earlier kustomization has left there must not matter.
	if openapi.GetSchemaVersion() != defaultSchema {
		openapi.ResetOpenAPI()
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = kustomizetypes.LoadRestrictionsNone
	options.Reorder = krusty.ReorderOptionUnspecified
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, "app"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

// parse reads documents as if they came from an API server.
func parse(t *testing.T, text string) []map[string]any {
	t.Helper()
	var objects []map[string]any
	for document := range strings.SplitSeq(text, "\n---\n") {
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if string(raw) == "null" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object.Object)
	}
	return objects
}

// generate makes a generator for the files, and returns what it generates.
func generate(ctx context.Context, f files, options options, parameters map[string]any) ([]client.Object, error) {
	generator, err := kustomize.New(f.fs(), "app", options)
	if err != nil {
		return nil, err
	}
	return generator.Generate(ctx, "shop", "web", types.UnstructurableMap(parameters))
}

func contents(t *testing.T, objects []client.Object) []map[string]any {
	t.Helper()
	var result []map[string]any
	for _, object := range objects {
		object, ok := object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("got an object of type %T", object)
		}
		result = append(result, object.Object)
	}
	return result
}

// expectSame compares the objects of a generator with those that are expected.
func expectSame(t *testing.T, want []map[string]any, generator manifests.Generator, parameters map[string]any) {
	t.Helper()
	objects, err := generator.Generate(t.Context(), "shop", "web", types.UnstructurableMap(parameters))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contents(t, objects)); diff != "" {
		t.Errorf("unexpected objects (-want +got):\n%s", diff)
	}
}

// data renders one ConfigMap with the given lines, and returns its data.
func data(t *testing.T, ctx context.Context, parameters map[string]any, lines ...string) (map[string]any, error) {
	t.Helper()
	objects, err := generate(ctx, files{"app/a.yaml": configMap("a", lines...)}, options{}, parameters)
	if err != nil {
		return nil, err
	}
	result, _ := contents(t, objects)[0]["data"].(map[string]any)
	return result, nil
}

func expectError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got error %q, which lacks %q", err, part)
		}
	}
}
