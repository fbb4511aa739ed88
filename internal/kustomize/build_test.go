// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/component-operator/runtime/internal/kustomize"
)

// files are the files of a kustomization, by their absolute paths.
type files map[string]string

func (f files) fs() *kustomize.Memory {
	fsys := kustomize.NewMemory()
	for name, content := range f {
		fsys.Add(name, []byte(content))
	}
	return fsys
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

// What is refused would otherwise reach the network: each of these texts is one that the SDK fetches.
func TestRemoteReferencesAreRefused(t *testing.T) {
	t.Parallel()
	const url = "https://127.0.0.1:1/x.yaml"
	transformer := "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: " + url + "\n"
	tests := []struct {
		reason string
		files  files
		want   string
	}{
		{"a resource", files{"/a/kustomization.yaml": "resources: [" + url + "]"}, url},
		{"a base of old", files{"/a/kustomization.yaml": "bases: [github.com/org/repo]"}, "github.com/org/repo"},
		{"a component", files{"/a/kustomization.yaml": "components: ['git@127.0.0.1:org/repo']"}, "git@127.0.0.1:org/repo"},
		{"a local repository", files{"/a/kustomization.yaml": "resources: ['file:///org/repo']"}, "file:///org/repo"},
		{"a folder that looks like a repository", files{
			"/a/kustomization.yaml":                     "resources: [github.com/org/repo]",
			"/a/github.com/org/repo/kustomization.yaml": "namePrefix: x",
		}, "github.com/org/repo"},
		{"a patch", files{"/a/kustomization.yaml": "patches: [{path: '" + url + "'}]"}, url},
		{"a replacement", files{"/a/kustomization.yaml": "replacements: [{path: '" + url + "'}]"}, url},
		{"a schema", files{"/a/kustomization.yaml": "openapi: {path: '" + url + "'}"}, url},
		{"a file of a ConfigMap", files{"/a/kustomization.yaml": "configMapGenerator: [{name: x, files: ['key=" + url + "']}]"}, url},
		{"a generator", files{"/a/kustomization.yaml": "generators: ['" + url + "']"}, url},
		{"inline configuration", files{"/a/kustomization.yaml": "transformers:\n- |-\n  " + strings.ReplaceAll(transformer, "\n", "\n  ")}, url},
		{"configuration in a file", files{"/a/kustomization.yaml": "transformers: [t.yaml]", "/a/t.yaml": configMap("x") + "---\n" + transformer}, url},
		{"configuration in a folder", files{
			"/a/kustomization.yaml": "validators: [t]", "/a/t/kustomization.yaml": "resources: [t.yaml]", "/a/t/t.yaml": transformer,
		}, url},
		{"a base of a base", files{
			"/a/kustomization.yaml": "resources: [../b]", "/b/kustomization.yml": "components: [c]", "/b/c/Kustomization": "resources: [" + url + "]",
		}, "/b/c/Kustomization refers to"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			_, err := kustomize.Build(tt.files.fs(), "/a", false)
			if err == nil {
				t.Fatal("it was not refused")
			}
			for _, part := range []string{tt.want, "would have to be fetched from elsewhere"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got %q, which lacks %q", err, part)
				}
			}
		})
	}
}

// The schema makes lists of a custom type mergeable by key. It must not matter which kustomization was built before.
func TestSchemaConcernsOneKustomization(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: x.example.io/v1\nkind: Thing\nmetadata:\n  name: a\nspec:\n  items:\n  - name: %s\n"
	const schema = `{"definitions": {"x": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "x.example.io", "version": "v1", "kind": "Thing"}],
"properties": {"spec": {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}},
"x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}}}}}}}`
	plain := files{
		"/a/kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.yaml}]\n",
		"/a/a.yaml":             fmt.Sprintf(object, "one"),
		"/a/p.yaml":             fmt.Sprintf(object, "two"),
	}
	special := files{"/a/kustomization.yaml": plain["/a/kustomization.yaml"] + "openapi: {path: s.json}\n", "/a/s.json": schema, "/a/a.yaml": plain["/a/a.yaml"], "/a/p.yaml": plain["/a/p.yaml"]}
	broken := files{"/a/kustomization.yaml": special["/a/kustomization.yaml"], "/a/s.json": "{]", "/a/a.yaml": plain["/a/a.yaml"], "/a/p.yaml": plain["/a/p.yaml"]}

	var group sync.WaitGroup
	for range 5 {
		for want, f := range map[int]files{1: plain, 2: special, 0: broken} {
			group.Go(func() {
				objects, err := kustomize.Build(f.fs(), "/a", false)
				if want == 0 {
					if err == nil || !strings.Contains(err.Error(), "invalid schema file") {
						t.Errorf("a broken schema: got error %v", err)
					}
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				items := objects[0].Object["spec"].(map[string]any)["items"].([]any)
				if len(items) != want {
					t.Errorf("got items %v, want %d", items, want)
				}
			})
		}
	}
	group.Wait()
}

// TestGrowth: a small kustomization does not become a large one by aliases, wherever these are.
func TestGrowth(t *testing.T) {
	t.Parallel()
	const base = "/b/kustomization.yaml"
	for name, f := range map[string]files{
		"/a/kustomization.yaml: ": {"/a/kustomization.yaml": repeated},
		base + ": ":               {"/a/kustomization.yaml": "resources: [../b]", base: repeated},
		"/a/b.yaml: ":             {"/a/kustomization.yaml": "resources: [b.yaml]", "/a/b.yaml": configMap("c") + "---\n" + repeated},
		"/a/t.yaml: ":             {"/a/kustomization.yaml": "transformers: [t.yaml]", "/a/t.yaml": repeated},
		"/a/p.yaml: ":             {"/a/kustomization.yaml": "patches: [{path: p.yaml}]", "/a/p.yaml": repeated},
	} {
		if _, err := kustomize.Build(f.fs(), "/a", false); err == nil || !strings.Contains(err.Error(), name+"with its aliases replaced, it has more than") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// repeated is YAML with a text that aliases repeat.
var repeated = "x: &x " + strings.Repeat("x", 1<<10) + "\ny: [" + strings.Repeat("*x, ", 100) + "]\n"

// Contrary to what the SDK does, a value is not left out because there is another one before it in the same document.
func TestSecondValuesAreRefused(t *testing.T) {
	t.Parallel()
	const second = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"
	for _, test := range []struct {
		reason string
		files  files
		want   string
	}{
		{"a resource", files{"/a/kustomization.yaml": "resources: [b.yaml]", "/a/b.yaml": configMap("c") + "---\n" + second}, "/a/b.yaml: line 7: another value begins here"},
		{
			"a resource of a base",
			files{"/a/kustomization.yaml": "resources: [../b]", "/b/kustomization.yaml": "resources: [b.yaml]", "/b/b.yaml": "\ufeff" + second},
			"/b/b.yaml: line 2: another value begins here",
		},
		{"a patch", files{"/a/kustomization.yaml": "patches: [{path: p.yaml}]", "/a/p.yaml": second}, "/a/p.yaml: line 2: "},
		{"a patch within", files{"/a/kustomization.yaml": "patches:\n- patch: |\n    {a: b}\n    {c: d}\n"}, "/a/kustomization.yaml: text in patch: line 2: "},
	} {
		_, err := kustomize.Build(test.files.fs(), "/a", false)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: expected an error with %q, got %v", test.reason, test.want, err)
		}
	}
	objects, err := kustomize.Build(files{
		"/a/kustomization.yaml": "configMapGenerator: [{name: a, files: [values.json]}]\npatches:\n- target: {kind: ConfigMap}\n  patch: |\n    - {op: add, path: /data/b, value: c}\n",
		"/a/values.json":        second,
	}.fs(), "/a", false)
	if err != nil || len(objects) != 1 {
		t.Errorf("what becomes the content of a ConfigMap is no document: %v, %v", objects, err)
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
