// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/pkg/manifests"
)

// difficult has values that lose their types or their form if they are carried over carelessly.
const difficult = `{apiVersion: v1, kind: ConfigMap, metadata: {name: difficult, namespace: ns, labels: {a: "1"}}, data: {
  number: "012", boolean: "yes", nothing: "null", float: "1e3", long: "9007199254740993", empty: "", text: "a: b\n- c\n\n", template: "{{ .x }} ${y}", unicode: "\u00e4\u2028"}}`

func TestKustomize(t *testing.T) {
	t.Parallel()
	deployment := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns, labels: {app: web}}, spec: {replicas: 3, big: 9007199254740993, template: {spec: {containers: [{name: a, image: "example.io/a:1"}, {name: b, image: "b"}]}}}}`
	target := func(kind, name string) *manifests.KustomizeSelector {
		return &manifests.KustomizeSelector{Kind: kind, Name: name}
	}
	for _, tc := range []struct {
		reason  string
		patches []manifests.KustomizePatch
		images  []manifests.KustomizeImage
		changed []bool // the Deployment, the ConfigMap; shorter if objects vanish
	}{
		{"a strategic merge patch merges lists by key", []manifests.KustomizePatch{
			{Patch: "{kind: x, metadata: {name: x}, spec: {template: {spec: {containers: [{name: b, image: c}]}}}}", Target: target("Deployment", "w.*")},
		}, nil, []bool{true, false}},
		{"without a target it names its object", []manifests.KustomizePatch{
			{Patch: "{apiVersion: v1, kind: ConfigMap, metadata: {name: difficult, namespace: ns}, data: {more: '01'}}"},
		}, nil, []bool{false, true}},
		{"a JSON patch", []manifests.KustomizePatch{
			{Patch: "- {op: replace, path: /spec/replicas, value: 5}\n- {op: add, path: /metadata/annotations, value: {x: '1'}}", Target: &manifests.KustomizeSelector{Group: "apps", Version: "v1", LabelSelector: "app=web"}},
		}, nil, []bool{true, false}},
		{"a patch that deletes", []manifests.KustomizePatch{{Patch: "{kind: x, metadata: {name: x}, $patch: delete}", Target: target("ConfigMap", "")}}, nil, []bool{false}},
		{"images", nil, []manifests.KustomizeImage{
			{Name: "example.io/a", NewTag: "2"}, {Name: "b", NewName: "mirror.example.io/b", Digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}, {Name: "other", NewTag: "3"},
		}, []bool{true, false}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			transformer, err := manifests.NewKustomizeObjectTransformer(tc.patches, tc.images)
			if err != nil {
				t.Fatal(err)
			}
			objects := []client.Object{object(t, deployment), object(t, difficult)}
			got, err := transform(t, transformer, objects...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(kustomizeBuild(t, objects, tc.patches, tc.images), got); diff != "" {
				t.Errorf("compared with kustomize build (-want +got):\n%s", diff)
			}
			if len(got) != len(tc.changed) {
				t.Fatalf("got %d objects, want %d", len(got), len(tc.changed))
			}
			for i, changed := range tc.changed {
				if (got[i] != objects[i]) != changed {
					t.Errorf("object %d: got one that changed: %t", i, !changed)
				}
			}
		})
	}
}

// kustomizeBuild does what the command of this name does.
func kustomizeBuild(t *testing.T, objects []client.Object, patches []manifests.KustomizePatch, images []manifests.KustomizeImage) []client.Object {
	t.Helper()
	kustomization, err := yaml.Marshal(map[string]any{"resources": []string{"objects.yaml"}, "patches": patches, "images": images})
	if err != nil {
		t.Fatal(err)
	}
	files := filesys.MakeFsInMemory()
	for name, content := range map[string]string{"/kustomization.yaml": string(kustomization), "/objects.yaml": asYAML(t, objects)} {
		if err := files.WriteFile(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/")
	if err != nil {
		t.Fatal(err)
	}
	var built []client.Object
	for _, resource := range result.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		built = append(built, object(t, string(text)))
	}
	return built
}

func TestKustomizeRefuses(t *testing.T) {
	t.Parallel()
	all := &manifests.KustomizeSelector{}
	for _, tc := range []struct {
		reason string
		patch  manifests.KustomizePatch
		want   string
	}{
		{"nothing", manifests.KustomizePatch{Target: all}, `patch 2: invalid value ""; must be a strategic merge patch or a list of JSON patch operations`},
		{"a JSON patch for nobody", manifests.KustomizePatch{Patch: "[]"}, "patch 2: a JSON patch needs a target"},
		{"a malformed target", manifests.KustomizePatch{Patch: "{kind: b, metadata: {name: b}}", Target: &manifests.KustomizeSelector{Name: "("}}, "patch 2: patching objects: "},
	} {
		_, err := manifests.NewKustomizeObjectTransformer([]manifests.KustomizePatch{{Patch: "{kind: b, metadata: {name: b}}", Target: all}, tc.patch}, nil)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want one with %s", tc.reason, err, tc.want)
		}
	}
	for want, image := range map[string]manifests.KustomizeImage{
		"image 1: name is required":                               {NewTag: "1"},
		"image 1 (a): one of newName, newTag, digest is required": {Name: "a"},
	} {
		if _, err := manifests.NewKustomizeObjectTransformer(nil, []manifests.KustomizeImage{image}); err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}

	t.Run("objects", func(t *testing.T) {
		t.Parallel()
		transformer, err := manifests.NewKustomizeObjectTransformer([]manifests.KustomizePatch{{Patch: "{apiVersion: v1, kind: Secret, metadata: {name: missing}}"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for want, objects := range map[string][]client.Object{
			"no resource matches strategic merge patch": {configMap("", "a", nil)},
			"already registered id":                     {configMap("", "a", nil), configMap("", "a", nil)},
		} {
			if _, err := transform(t, transformer, objects...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one with %q", err, want)
			}
		}
	})
}
