// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/clm/internal/sources"
)

// TestValues: what Helm makes of the same flags.
func TestValues(t *testing.T) {
	t.Parallel()
	root := files{
		"c/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.3\n",
		"1.yaml":       "a: 1\nb: {c: 2, d: 3}\ne: [1, 2]\nf: 1\n", "2.yaml": "b: {c: {x: 1}}\ne: [3]\nf: null\n", "text": "from a file\n",
	}.write(t)
	set := mustLoad(t, root, sources.Options{
		ValuesFiles: []string{"1.yaml", "2.yaml"},
		Set:         []string{"a=5,g.h=true", "e[1]=7"}, SetString: []string{"i=5"}, SetFile: []string{"j=" + root + "/text"},
	}, "c")
	want := map[string]any{
		"a": int64(5), "b": map[string]any{"c": map[string]any{"x": 1.0}, "d": 3.0}, "e": []any{3.0, int64(7)}, "f": nil,
		"g": map[string]any{"h": true}, "i": "5", "j": "from a file\n",
	}
	got := set.Values()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got["a"] = "changed"
	if diff := cmp.Diff(want, set.Values()); diff != "" {
		t.Errorf("whoever changes what was returned changes the set:\n%s", diff)
	}
}

// TestConflict: two definitions of the same object are ambiguous.
func TestConflict(t *testing.T) {
	t.Parallel()
	root := files{
		"a.yaml":   configMap("a", "p: q"),
		"b.yaml":   strings.Replace(configMap("a", "p: q"), "name: a", "name: a\n  namespace: shop", 1),
		"c.yaml":   strings.Replace(configMap("a", "p: q"), "name: a", "name: a\n  namespace: other", 1),
		"two.yaml": configMap("x", "p: q") + "---\n" + configMap("x", "x: z"),
	}.write(t)
	_, err := mustLoad(t, root, sources.Options{}, "c.yaml", "a.yaml", "b.yaml").Generate(t.Context(), request())
	expectError(t, err, root, "ConfigMap shop/a is defined by both ROOT/a.yaml and ROOT/b.yaml")
	if got := generate(t, mustLoad(t, root, sources.Options{}, "a.yaml", "c.yaml"), request()); len(got) != 2 {
		t.Errorf("objects of different namespaces are different ones, got %v", got)
	}
	if got := generate(t, mustLoad(t, root, sources.Options{}, "two.yaml"), request()); len(got) != 2 {
		t.Errorf("what is wrong within one source is for the engine to say, got %v", got)
	}
}

// TestSurroundings: templates see the release as an operator's see their component.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	root := merged(
		chart("c", files{"a.yaml": configMap("chart",
			`release: "{{ .Release.Namespace }}/{{ .Release.Name }} {{ .Release.Revision }} {{ .Release.IsInstall }} {{ .Release.IsUpgrade }}"`,
			`cluster: "{{ .Capabilities.KubeVersion }} {{ .Capabilities.APIVersions.Has "apps/v1/Deployment" }} {{ .Capabilities.APIVersions.Has "example.com/v1/Widget" }}"`,
			`lookup: {{ lookup "v1" "Secret" "shop" "x" | toJson | quote }}`,
		)}),
		files{"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": configMap("kustomization",
			`release: "{{ namespace }}/{{ name }} {{ componentRevision }} {{ componentDigest }}"`,
			`component: "{{ component.GetAPIVersion }} {{ component.GetKind }} {{ component.GetNamespace }}/{{ component.GetName }} {{ component.Object.spec.x }}"`,
			`cluster: "{{ kubernetesVersion.Minor }}"`,
			`values: "{{ .whole }} {{ .large }} {{ eq .bytes "\xff" }}"`,
			`lookup: "{{ lookup "v1" "Secret" "shop" "x" }}{{ lookupList "v1" "Secret" "" "" }}{{ localLookup "v1" "Secret" "shop" "x" }}"`,
		), "values.yaml": "whole: 1000000000\nlarge: 12345678901234567\n", "bytes": "\xff"},
	).write(t)
	offline, err := sources.Offline("1.36", []string{"example.com/v1/Widget"})
	if err != nil {
		t.Fatal(err)
	}
	wanted := request()
	wanted.Revision, wanted.Installed, wanted.Digest, wanted.Client = 2, true, "abc", offline
	set := mustLoad(t, root, sources.Options{
		Template: true, Set: []string{"x=1"}, ValuesFiles: []string{"values.yaml"}, SetFile: []string{"bytes=" + root + "/bytes"},
	}, "c", "k")
	want := []string{
		`chart: cluster: v1.36.0 true true lookup: '{}' release: shop/rel 2 false true`,
		`kustomization: cluster: "36" component: clm.example.io/v1alpha1 Component shop/rel 1 lookup: map[][]map[] release: shop/rel 2 abc values: 1000000000 1.2345678901234568e+16 true`,
	}
	if diff := cmp.Diff(want, generate(t, set, wanted)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDefaultKubernetesVersion fails when the libraries were updated and the version was not.
func TestDefaultKubernetesVersion(t *testing.T) {
	t.Parallel()
	requirements, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	minor := regexp.MustCompile(`k8s.io/client-go v0\.(\d+)\.`).FindSubmatch(requirements)
	if minor == nil || sources.DefaultKubernetesVersion != "v1."+string(minor[1])+".0" {
		t.Errorf("the libraries are those of version 1.%s, the default is %s", minor[1], sources.DefaultKubernetesVersion)
	}
}

// TestHooks of other tools are read in manifests, and those of Argo CD in charts. Each object keeps its origin, and
// objects stay in the order of their sources.
func TestHooks(t *testing.T) {
	t.Parallel()
	hook := func(kind, name, annotations string) string {
		return "apiVersion: batch/v1\nkind: " + kind + "\nmetadata: {" + name + ", annotations: {" + annotations + "}}\n"
	}
	root := merged(
		files{"app.yaml": hook("Job", "generateName: run-", `argocd.argoproj.io/hook: "PreSync,PostSync"`) + "---\n" +
			hook("Job", "name: upgrade", `helm.sh/hook: pre-upgrade`) + "---\n" + hook("Job", "name: skipped", `argocd.argoproj.io/hook: Skip`) + "---\n" +
			hook("Job", "name: both", `helm.sh/hook: test, argocd.argoproj.io/hook: Sync`)},
		chart("chart", files{"job.yaml": hook("Job", "name: install", `helm.sh/hook: pre-install`), "wave.yaml": hook("Job", "name: wave", `argocd.argoproj.io/sync-wave: "7"`)}),
	).write(t)
	references := []string{filepath.Join(root, "app.yaml"), filepath.Join(root, "chart")}
	for _, tc := range []struct {
		reason string
		hooks  []string
		want   []string
	}{
		{"of Argo CD", []string{"argocd"}, []string{
			"app.yaml run- -20000", "app.yaml run- 0", "app.yaml upgrade ", "app.yaml both 0", "web/templates/job.yaml install -101", "web/templates/wave.yaml wave 7",
		}},
		{"of both", []string{"helm", "argocd"}, []string{
			"app.yaml run- -20000", "app.yaml run- 0", "app.yaml both 0", "web/templates/job.yaml install -101", "web/templates/wave.yaml wave 7",
		}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			set, err := sources.Load(t.Context(), references, sources.Options{Hooks: tc.hooks})
			if err != nil {
				t.Fatal(err)
			}
			generated, err := set.Generate(t.Context(), sources.Request{ReconcilerName: reconcilerName, Namespace: "default", Name: "web", Revision: 1})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, object := range generated.Objects {
				name, _, _ := strings.Cut(object.GetName(), "-")
				if name != object.GetName() {
					name += "-"
				}
				origin := generated.Origins[i]
				if rest, ok := strings.CutPrefix(origin, root+"/"); ok {
					origin = rest
				}
				got = append(got, origin+" "+name+" "+object.GetAnnotations()[reconcilerName+"/apply-order"])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := sources.Load(t.Context(), references, sources.Options{Hooks: []string{"argo"}}); err == nil || !strings.Contains(err.Error(), `--hooks: reading hooks: invalid tool "argo"; must be one of: argocd, helm`) {
		t.Errorf("got %v", err)
	}
}
