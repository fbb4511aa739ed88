// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"path/filepath"
	"testing"

	"github.com/component-operator/runtime/pkg/manifests/kustomize"
)

// app is what most fixtures customize.
var app = files{"app/web.yaml": deployment("web"), "app/settings.yaml": configMap("settings", "a: b")}

// kustomized adds a kustomization file for the resources of app.
func kustomized(lines string, more ...files) files {
	all := app.with(files{"app/kustomization.yaml": "resources: [web.yaml, settings.yaml]\n" + lines})
	for _, f := range more {
		all = all.with(f)
	}
	return all
}

const replicasPatch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5}\n"

// plainFixtures are kustomizations without templates. Each is there for one rule of Kustomize.
var plainFixtures = []struct {
	reason string
	files  files
}{
	{"resources", kustomized("")},
	{"the extension yml", files{"app/kustomization.yml": "resources: [a.yml]", "app/a.yml": configMap("a")}},
	{"the name Kustomization", files{"app/Kustomization": "resources: [a]", "app/a": configMap("a")}},
	{"prefix, suffix and namespace, and the names that follow", kustomized("namePrefix: x-\nnameSuffix: -y\nnamespace: other\n")},
	{"labels with selectors", kustomized("commonLabels: {team: a}\n")},
	{"labels without selectors", kustomized("labels: [{pairs: {team: a}, includeTemplates: true}]\n")},
	{"annotations", kustomized("commonAnnotations: {note: 'true'}\n")},
	{"images", kustomized("images: [{name: example.io/web, newName: mirror.example.io/web, newTag: v2}]\n")},
	{"digests", kustomized("images: [{name: example.io/web, digest: 'sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3'}]\n")},
	{"replicas", kustomized("replicas: [{name: web, count: 4}]\n")},
	{"an inline patch", kustomized(`patches: [{patch: '[{"op": "replace", "path": "/spec/replicas", "value": 7}]', target: {kind: Deployment}}]` + "\n")},
	{"a patch in a file", kustomized("patches: [{path: p.yaml}]\n", files{"app/p.yaml": replicasPatch})},
	{"a patch of old", kustomized("patchesStrategicMerge: [p.yaml]\n", files{"app/p.yaml": replicasPatch})},
	{"a JSON patch of old", kustomized("patchesJson6902: [{path: p.yaml, target: {group: apps, version: v1, kind: Deployment, name: web}}]\n",
		files{"app/p.yaml": "- {op: replace, path: /spec/replicas, value: 6}\n"})},
	{"a patch that deletes", kustomized("patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, $patch: delete}'}]\n")},
	{"a ConfigMap with a hash, and the reference to it", files{
		"app/kustomization.yaml": "resources: [web.yaml]\nconfigMapGenerator: [{name: settings, files: [a.txt, other=a.txt], literals: [x=y], envs: [a.env]}]\n",
		"app/web.yaml":           deployment("web"), "app/a.txt": "text\n", "app/a.env": "k=v\n",
	}},
	{"a Secret", kustomized("secretGenerator: [{name: s, literals: [password=x], type: Opaque}]\ngeneratorOptions: {disableNameSuffixHash: true}\n")},
	{"binary content", kustomized("configMapGenerator: [{name: binary, files: [b.bin]}]\n", files{"app/b.bin": "\xff\xfe\x00"})},
	{"names with blanks and the like", kustomized("configMapGenerator: [{name: odd, files: ['key=a file (1)@x.txt']}]\n", files{"app/a file (1)@x.txt": "text"})},
	{"merging generators", kustomized("configMapGenerator: [{name: settings, behavior: merge, literals: [c=d]}]\n")},
	{"replacements", kustomized("replacements: [{source: {kind: ConfigMap, name: settings, fieldPath: data.a}, targets: [{select: {kind: Deployment}, fieldPaths: [spec.template.spec.containers.0.image], options: {delimiter: ':', index: 1}}]}]\n")},
	{"replacements in a file", kustomized("replacements: [{path: r.yaml}]\n", files{
		"app/r.yaml": "source: {kind: ConfigMap, name: settings, fieldPath: data.a}\ntargets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.a], options: {create: true}}]\n",
	})},
	{"variables", kustomized("vars: [{name: A, objref: {kind: ConfigMap, name: settings, apiVersion: v1}, fieldref: {fieldpath: data.a}}]\n" +
		`patches: [{patch: '[{"op": "add", "path": "/spec/template/spec/containers/0/args", "value": ["$(A)"]}]', target: {kind: Deployment}}]` + "\n")},
	{"a configured transformer", kustomized("transformers: [t.yaml]\n", files{
		"app/t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: patches/p.yaml\n", "app/patches/p.yaml": replicasPatch,
	})},
	{"an inline generator", kustomized("generators:\n- |-\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: generated}\n  literals: [a=b]\n")},
	{"a configuration", kustomized("namePrefix: x-\nconfigurations: [c.yaml]\n", files{"app/c.yaml": "namePrefix: [{path: data/a, kind: ConfigMap}]\n"})},
	{"definitions", kustomized("crds: [crd.json]\n", files{"app/crd.json": `{"x": {"Schema": {"properties": {}}}}`})},
	{"sorting", kustomized("sortOptions: {order: legacy}\n")},
	{"origins", kustomized("buildMetadata: [originAnnotations, transformerAnnotations]\ncommonAnnotations: {a: b}\n")},
	{"lists and several documents", files{
		"app/kustomization.yaml": "resources: [all.yaml]\n",
		"app/all.yaml": configMap("a") + "---\n" + configMap("b") + "---\n# nothing\n---\n" +
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: d}}\n",
	}},
	{"numbers, and text that looks like numbers", files{
		"app/kustomization.yaml": "resources: [a.yaml]\n",
		"app/a.yaml":             "apiVersion: x.example.io/v1\nkind: Thing\nmetadata: {name: a}\nspec: {int: 12345678901, float: 1.5, exponent: 1e3, octal: '0777', yes: 'yes', quoted: \"1.0\", nothing: ~, on: on}\n",
	}},
	{"an overlay beside its base", files{
		"app/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\npatches: [{path: p.yaml}]\n", "app/p.yaml": replicasPatch,
		"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment("web"), "base/unrelated.txt": "x",
	}},
	{"a base within the folder", files{
		"app/kustomization.yaml": "resources: [base, ./other]\nnamespace: x\n", "app/base/kustomization.yaml": "resources: [a.yaml]\nnameSuffix: -one\n",
		"app/base/a.yaml": configMap("a"), "app/other/kustomization.yaml": "resources: [b.yaml]\n", "app/other/b.yaml": configMap("b"),
	}},
	{"bases of bases elsewhere", files{
		"app/kustomization.yaml": "bases: [../x/y]\n", "x/y/kustomization.yaml": "resources: [../../z, a.yaml]\nnamePrefix: y-\n", "x/y/a.yaml": configMap("a"),
		"z/kustomization.yml": "resources: [deep/b.yaml]\nnamePrefix: z-\n", "z/deep/b.yaml": configMap("b"),
	}},
	{"a base that is used twice", files{
		"app/kustomization.yaml": "resources: [../one, ../two]\n", "one/kustomization.yaml": "resources: [../base]\nnamePrefix: one-\n",
		"two/kustomization.yaml": "resources: [../base]\nnamePrefix: two-\n", "base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": configMap("a"),
	}},
	{"components elsewhere", kustomized("components: [../component]\n", files{
		"component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: p.yaml}]\n", "component/p.yaml": replicasPatch,
	})},
	{"files elsewhere", kustomized("patches: [{path: ../other/p.yaml}]\nconfigMapGenerator: [{name: x, files: [key=../other/a.txt], envs: [../other/a.env]}]\nconfigurations: [../other/c.yaml]\n"+
		"replacements: [{path: ../other/r.yaml}]\n", files{
		"other/p.yaml": replicasPatch, "other/a.txt": "text", "other/a.env": "k=v", "other/c.yaml": "namePrefix: []\n",
		"other/r.yaml": "source: {kind: ConfigMap, name: settings, fieldPath: data.a}\ntargets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.a], options: {create: true}}]\n",
	})},
	{"a single resource elsewhere", files{"app/kustomization.yaml": "resources: [../other/a.yaml]\n", "other/a.yaml": configMap("a")}},
	{"a transformer elsewhere, whose patch lies elsewhere again", kustomized("transformers: [../other]\n", files{
		"other/kustomization.yaml": "resources: [t.yaml]\n",
		"other/t.yaml":             "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: ../third/p.yaml\n",
		"third/p.yaml":             replicasPatch,
	})},
	{"a schema elsewhere", kustomized("openapi: {path: ../other/s.json}\n", files{"other/s.json": `{"definitions": {}}`})},
	{"folders with dots in their names", files{"app/kustomization.yaml": "resources: [../v1.2/base.d]\n", "v1.2/base.d/kustomization.yaml": "resources: [a.yaml]\n", "v1.2/base.d/a.yaml": configMap("a")}},
}

func TestPlainKustomizations(t *testing.T) {
	for _, tt := range plainFixtures {
		t.Run(tt.reason, func(t *testing.T) {
			dir := tt.files.dir(t)
			want := reference(t, dir)
			if len(want) == 0 {
				t.Fatal("Kustomize finds no objects")
			}
			for _, options := range []options{{}, {DisableTemplating: true}} {
				fromFS, err := kustomize.New(tt.files.fs(), "/app", options)
				if err != nil {
					t.Fatal(err)
				}
				expectSame(t, want, fromFS, nil)
				fromDisk, err := kustomize.New(nil, filepath.Join(dir, "app"), options)
				if err != nil {
					t.Fatal(err)
				}
				expectSame(t, want, fromDisk, nil)
				if fromFS.Fingerprint() != fromDisk.Fingerprint() {
					t.Error("the fingerprint depends on where the files are")
				}
			}
		})
	}
}
