// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/types"
)

// decryptor takes ENC(x) for encrypted x.
type decryptor struct{}

func (decryptor) Decrypt(input []byte, path string) ([]byte, error) {
	if strings.HasPrefix(path, "/") || strings.HasPrefix(path, "..") {
		return nil, errors.New("got a path that is none of the file system: " + path)
	}
	if bytes.Contains(input, []byte("BAD")) {
		return nil, errors.New("no key")
	}
	if !bytes.HasPrefix(input, []byte("ENC(")) {
		return input, nil
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(input, []byte("ENC(")), []byte(")")), nil
}

func TestBadKustomizations(t *testing.T) {
	t.Parallel()
	a := configMap("a")
	config := func(lines string) files { return files{"app/.component-config.yaml": lines, "app/a.yaml": a} }
	tests := []struct {
		reason  string
		files   files
		options options
		want    string
	}{
		{"a template that cannot be parsed", files{"app/sub/a.yaml": "a: b\n{{ if }}"}, options{}, "reading kustomization app: sub/a.yaml:2: missing value for if"},
		{"a template that fails", files{"app/a.yaml": "a: b\n\n{{ required `size is missing` .size }}"}, options{}, "rendering kustomization app: a.yaml:3:3: executing \"a.yaml\" at <required `size is missing` .size>: error calling required: size is missing"},
		{"a remote base", files{"app/kustomization.yaml": "resources: [https://127.0.0.1:1/org/repo]"}, options{}, `building kustomization app: /app/kustomization.yaml refers to "https://127.0.0.1:1/org/repo", which would have to be fetched from elsewhere`},
		{"a chart", files{"app/kustomization.yaml": "helmCharts: [{name: x, repo: 'https://127.0.0.1:1'}]"}, options{}, "must specify --enable-helm"},
		{"an unknown setting", config("templatesuffix: .tpl\nunknown: x"), options{}, `parsing .component-config.yaml: error unmarshaling JSON: while decoding JSON: json: unknown field "unknown"`},
		{"an included file that is included anyway", config("includedFiles: [./a.yaml]"), options{}, `includedFiles: path "./a.yaml" lies within the kustomization; it must lead out of it`},
		{"an included kustomization that contains the other", config("includedKustomizations: [..]"), options{}, "kustomization . overlaps with kustomization app"},
		{"a suffix that leaves the name of another file", files{"app/a.yaml": "", "app/a.yaml.tpl": ""}, options{TemplateSuffix: new(".tpl")}, "a.yaml.tpl, without suffix .tpl, has no name or that of another file"},
		{"what cannot be decrypted elsewhere", files{"app/kustomization.yaml": "resources: [../b.yaml]", "b.yaml": "BAD"}, options{Decryptor: decryptor{}}, "reading kustomization app: decrypting b.yaml: no key"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			_, err := generate(t.Context(), tt.files, tt.options, nil)
			expectError(t, err, tt.want)
		})
	}
}

func TestSymbolicLinks(t *testing.T) {
	t.Parallel()
	dir := files{"real/overlays/app/kustomization.yaml": "resources: [../base, linked.yaml]", "real/overlays/base/kustomization.yaml": "resources: [b.yaml]", "real/overlays/base/b.yaml": configMap("b"), "a.yaml": configMap("a")}.dir(t)
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(dir, "a.yaml"), "real/overlays/app/linked.yaml")
	link("real/overlays/app", "app")
	generator, err := kustomize.New(nil, filepath.Join(dir, "app"), options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := generator.Generate(t.Context(), "shop", "web", nil)
	if err != nil || len(objects) != 2 {
		t.Errorf("got %d objects and error %v", len(objects), err)
	}
	link("..", "real/overlays/app/loop")
	_, err = kustomize.New(nil, filepath.Join(dir, "app"), options{})
	expectError(t, err, "is a symbolic link to a folder that contains it")
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	base := files{"app/kustomization.yaml": "resources: [a.yaml, ../base]", "app/a.yaml": configMap("a"), "base/kustomization.yaml": "resources: [b.yaml]", "base/b.yaml": configMap("b"), "x.txt": "x"}
	seen := map[string]string{}
	for _, tt := range []struct {
		reason  string
		files   files
		options options
	}{
		{"as it is", base, options{}},
		{"a file", base.with(files{"app/a.yaml": configMap("b")}), options{}},
		{"the configuration", base.with(files{"app/.component-config.yaml": "values: {a: b}"}), options{}},
		{"an included file", base.with(files{"app/.component-config.yaml": "includedFiles: [../x.txt]"}), options{}},
		{"the suffix", base, options{TemplateSuffix: new(".tpl")}},
		{"the right delimiter", base, options{RightTemplateDelimiter: new(">>")}},
	} {
		generator, err := kustomize.New(tt.files.fs(), "app", tt.options)
		if err != nil {
			t.Fatalf("%s: %v", tt.reason, err)
		}
		if other, ok := seen[generator.Fingerprint()]; ok || generator.Fingerprint() == "" {
			t.Errorf("%s makes no difference to %s", tt.reason, other)
		}
		seen[generator.Fingerprint()] = tt.reason
	}
	again, err := kustomize.New(base.with(files{"unrelated": "x", "base/unrelated": "y"}).fs(), "/app/", options{Decryptor: decryptor{}})
	if err != nil || seen[again.Fingerprint()] != "as it is" {
		t.Errorf("something irrelevant makes a difference (error %v)", err)
	}
}

// parameterFunc and objectFunc are transformers.
type parameterFunc func(types.Unstructurable) (types.Unstructurable, error)

func (f parameterFunc) TransformParameters(_ string, _ string, parameters types.Unstructurable) (types.Unstructurable, error) {
	return f(parameters)
}

type objectFunc func([]client.Object) ([]client.Object, error)

func (f objectFunc) TransformObjects(_ string, _ string, objects []client.Object) ([]client.Object, error) {
	return f(objects)
}

// TestDeprecatedConstructors: transformers that are given to them run.
func TestDeprecatedConstructors(t *testing.T) {
	t.Parallel()
	fsys := files{"app/a.yaml": configMap("a", "x: {{ .given }}")}.fs()
	setGiven := parameterFunc(func(types.Unstructurable) (types.Unstructurable, error) {
		return types.UnstructurableMap{"given": "transformed"}, nil
	})
	setName := objectFunc(func(objects []client.Object) ([]client.Object, error) {
		objects[0].SetName("transformed")
		return objects, nil
	})
	withParameters, err := kustomize.NewKustomizeGeneratorWithParameterTransformer(fsys, "app", nil, options{}, setGiven)
	if err != nil {
		t.Fatal(err)
	}
	withObjects, err := kustomize.NewKustomizeGeneratorWithObjectTransformer(fsys, "app", nil, options{}, setName)
	if err != nil {
		t.Fatal(err)
	}
	for generator, want := range map[manifests.Generator]string{withParameters: "a transformed", withObjects: "transformed set"} {
		objects, err := generator.Generate(t.Context(), "shop", "web", types.UnstructurableMap{"given": "set"})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(objects[0].GetName(), " ", contents(t, objects)[0]["data"].(map[string]any)["x"]); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
