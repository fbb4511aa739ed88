// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFromHelmOperator makes a project of one of operator-sdk's helm operator. The page "Migrate from operator-sdk's helm
// operator" builds it, and takes live objects over; see the tests of the website.
func TestFromHelmOperator(t *testing.T) {
	t.Parallel()
	const folder = "testdata/helm-operator"
	options := &Options{GoModule: "example.org/site-operator", RuntimeVersion: "v1.0.0"}
	notes, err := options.FromHelmOperator(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := options.Complete(); err != nil {
		t.Fatal(err)
	}
	contents, err := LoadContents(t.Context(), options, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := contents.NoteFormerRights(options, folder); err != nil {
		t.Fatal(err)
	}
	tree, err := Render(options, contents)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{options.GroupName, options.GroupVersion, options.Kind, options.Resource, options.OperatorName}
	if diff := cmp.Diff([]string{"web.example.org", "v1alpha1", "Site", "sites", "site.web.example.org"}, got); diff != "" {
		t.Error(diff)
	}
	for path, texts := range map[string][]string{
		"pkg/operator/operator.go": {
			`FormerFinalizers: []string{Name, "helm.sdk.operatorframework.io/uninstall-release", "uninstall-helm-release"}`, "helm.InheritRelease", "AdoptionPolicyIfUnowned",
		},
		"pkg/generator/generator.go":       {`os.Expand("image.repository=$RELATED_IMAGE_SITE", variable)`, `os.Expand("labels.team=web", variable)`, "SetString: overrides()"},
		"chart/values.yaml":                {"environment:\n  RELATED_IMAGE_SITE: registry.example.org/site\n"},
		"chart/templates/deployment.yaml":  {"range $name, $value := .Values.environment"},
		"chart/templates/clusterrole.yaml": {"  # Helm's records of releases, until these are taken over\n  - apiGroups: [\"\"]\n    resources: [configmaps, secrets]\n    verbs: [get, list, delete]\n"},
		"chart/README.md": {
			"horizontalpodautoscalers.autoscaling, which the chart was not seen to need", "| handed on by ClusterRole default-example |", "| objects of the chart: Job |",
		},
		".scaffold/options.yaml": {"helmOperator: true"},
	} {
		for _, text := range texts {
			if !strings.Contains(string(tree[path]), text) {
				t.Errorf("%s lacks %q:\n%s", path, text, tree[path])
			}
		}
	}
	if shown := strings.Join(notes, "\n"); len(notes) != 2 || !strings.Contains(shown, "watchDependentResources: false") || !strings.Contains(shown, "reconcilePeriod: 5m") {
		t.Errorf("got notes %q", notes)
	}
}

// TestHelmOperatorsThatAreRefused checks that each refusal names the file, or the flag, and what is allowed.
func TestHelmOperatorsThatAreRefused(t *testing.T) {
	t.Parallel()
	const site = "- {group: web.example.org, version: v1alpha1, kind: Site, chart: helm-charts/site}\n"
	for reason, row := range map[string]struct {
		files map[string]string
		kind  string
		want  []string
	}{
		"no project":         {nil, "", []string{"watches.yaml"}},
		"not YAML":           {map[string]string{"watches.yaml": "["}, "", []string{"watches.yaml"}},
		"several kinds":      {map[string]string{"watches.yaml": site + strings.ReplaceAll(site, "Site", "Shop")}, "", []string{"--kind: Site, Shop"}},
		"another kind":       {map[string]string{"watches.yaml": site}, "Shop", []string{"watches.yaml", "--kind: Site"}},
		"cluster-wide kinds": {map[string]string{"watches.yaml": site, "config/crd/bases/a.yaml": "spec: {group: web.example.org, names: {kind: Site}, scope: Cluster}"}, "", []string{"a.yaml", "spec.scope is Cluster"}},
	} {
		folder := t.TempDir()
		for name, content := range row.files {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		options := &Options{Kind: row.kind}
		_, err := options.FromHelmOperator(folder)
		for _, want := range row.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: want an error with %q, got %v", reason, want, err)
			}
		}
	}
	options := &Options{GroupName: "other.example.org"}
	if _, err := options.FromHelmOperator("testdata/helm-operator"); err == nil || !strings.Contains(err.Error(), `--group-name: invalid value "other.example.org": the live objects have "web.example.org"`) {
		t.Errorf("got error %v", err)
	}
}
