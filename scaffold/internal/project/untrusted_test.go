// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/rights"
)

// escape closes the list that it is in, and adds a rule that allows everything.
const escape = "{{ printf `%c]%c  - {apiGroups: [%c*%c], resources: [%c*%c], verbs: [%c*%c]}%c  - apiGroups: [%cx` 34 10 34 34 34 34 34 34 10 34 }}"

// hostileNames are names of roles. The note on an aggregated role has its name, too.
var hostileNames = []string{
	escape, "{{ fail `evaluated` }}", "{{- /*", "a | b ]", "a`b", "\n# Heading\n\n<img src=x>\n", "[a](javascript:b)", "true", "1e3", "'", "\\", "{",
}

// hostileOptions are for a project, without webhooks, around files that have these names, and Go code.
func hostileOptions(t *testing.T, generator GeneratorKind) *Options {
	t.Helper()
	options := variant{generator: generator, license: LicenseApache}.options(t)
	if generator == GeneratorHelm {
		options.Chart = hostile(t, generator)
	} else {
		options.Kustomization = hostile(t, generator)
	}
	return options
}

// hostile returns a folder with the files.
func hostile(t *testing.T, generator GeneratorKind) string {
	t.Helper()
	folder := t.TempDir()
	var roles strings.Builder
	for i, name := range hostileNames {
		fmt.Fprintf(&roles, "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}, aggregationRule: {}}\n", quotedInTemplate("role "+name))
		fmt.Fprintf(&roles, "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a%d}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}}\n",
			i, quotedInTemplate(name))
	}
	files := map[string]string{"files/x_test.go": "package files\n\nfunc TestX(t *testing.T) {}\n", "x.go": "package x\n"}
	if generator == GeneratorHelm {
		files["Chart.yaml"] = "apiVersion: v2\nname: \"{{ fail `name` }} | <b>\\n# x\"\nversion: 1.0.0\n"
		files["values.yaml"] = "# {{ fail `values` }} */ ` <img src=x>\n\"{{ fail }}\": 1\ntext: \"{{ fail `text` }}\"\n"
		files["values.schema.json"] = `{"properties": {"text": {"type": "string", "enum": ["{{ fail ` + "`enum`" + ` }}", "\n+x"], "description": "a\n// +x\n*/ {{ fail }}"}}, "required": ["text"]}`
		files["templates/all.yaml"] = roles.String() + "---\n{apiVersion: \"{{ `{{ fail }}/v1` }}\", kind: \"{{ `{{ fail }}` }}\", metadata: {name: a, namespace: \"{{ `{{ fail }}` }}\"}}\n"
	} else {
		files["kustomization.yaml"] = "resources: [all.yaml]\n"
		files["all.yaml"] = roles.String()
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// escaped are characters that Markdown takes as they are.
var escaped = regexp.MustCompile(`\\.`)

// quotedInTemplate returns a text for YAML in a template that renders it as it is.
func quotedInTemplate(text string) string {
	return strings.ReplaceAll(fmt.Sprintf("%q", text), "{", `\x7b`)
}

// TestTextOfOthersIsNotEvaluated makes projects of a chart and a kustomization with names that are templates, YAML,
// Markdown and Go. The chart of the operator renders to the rules that were computed, and the pages have no more markup
// than those of other projects.
func TestTextOfOthersIsNotEvaluated(t *testing.T) {
	t.Parallel()
	for _, generator := range []GeneratorKind{GeneratorHelm, GeneratorKustomize} {
		t.Run(string(generator), func(t *testing.T) {
			t.Parallel()
			options := hostileOptions(t, generator)
			contents, err := LoadContents(t.Context(), options, "")
			if err != nil {
				t.Fatal(err)
			}
			tree, err := Render(options, contents)
			if err != nil {
				t.Fatal(err)
			}
			var want []rbacv1.PolicyRule
			for _, rule := range permissionsOf(options, contents).Cluster {
				if rule.Need == rights.NeedNothing || slices.Contains(contents.Needs, rule.Need) {
					want = append(want, rule.PolicyRule)
				}
			}
			var roles []string
			for _, rule := range want {
				roles = append(roles, rule.ResourceNames...)
			}
			if !slices.Contains(roles, escape) || !slices.Contains(roles, "true") {
				t.Fatalf("the rules have not the hostile names: %q", roles)
			}
			if diff := cmp.Diff(want, clusterRules(t, tree)); diff != "" {
				t.Errorf("unexpected rules (-want +got):\n%s", diff)
			}
			readme := string(tree["chart/README.md"]) + string(tree["README.md"])
			for line := range strings.Lines(readme) {
				line = escaped.ReplaceAllString(line, "")
				isTable, isLink := strings.HasPrefix(line, "| cluster"), strings.Contains(line, "](javascript:") && strings.Contains(line, "[")
				if isTable && strings.Count(line, "|") != 5 || isLink || strings.ContainsAny(line, "<") || strings.Contains(line, "{{") || strings.HasPrefix(line, "# Heading") {
					t.Errorf("a line of a README has markup of others: %s", line)
				}
			}
		})
	}
}

// clusterRules returns the rules of the operator's ClusterRole as its chart renders it.
func clusterRules(t *testing.T, tree Tree) []rbacv1.PolicyRule {
	t.Helper()
	folder := t.TempDir()
	if err := tree.WriteTo(folder); err != nil {
		t.Fatal(err)
	}
	chart, err := helm.Load(nil, folder+"/chart")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := chart.Render(t.Context(), helm.Release{
		Name: "shop", Namespace: "shops", Revision: 1, Capabilities: helm.Capabilities{KubeVersion: helm.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}}, Client: noCluster,
	})
	if err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for _, object := range objects {
		if object.GetKind() == "ClusterRole" {
			role := &rbacv1.ClusterRole{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
				t.Fatal(err)
			}
			rules = append(rules, role.Rules...)
		}
	}
	return rules
}

// TestCodeOfOthersIsNotBuilt makes projects of a chart and a kustomization with Go code: the patterns of commands that
// build, test and tidy do not match it.
func TestCodeOfOthersIsNotBuilt(t *testing.T) {
	t.Parallel()
	runtimePath, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, generator := range []GeneratorKind{GeneratorHelm, GeneratorKustomize} {
		options := hostileOptions(t, generator)
		// The runtime is there, with the checksums of what it requires.
		options.RuntimeVersion, options.RuntimePath = "", runtimePath
		folder := t.TempDir()
		tree := renderWith(t, options)
		if err := errors.Join(tree.WriteTo(folder), seedChecksums(options, folder)); err != nil {
			t.Fatal(err)
		}
		if _, exists := tree[ContentsFolder(options)+"/files/x_test.go"]; !exists {
			t.Errorf("%s: the file is not in the project", generator)
		}
		command := exec.CommandContext(t.Context(), "go", "list", "-find", "./...")
		command.Dir = folder
		command.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=mod")
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		if packages := string(output); strings.Contains(packages, ContentsFolder(options)) || !strings.Contains(packages, "/pkg/generator\n") {
			t.Errorf("%s: unexpected packages:\n%s", generator, packages)
		}
	}
}

// TestYAMLText reads texts as the items of a list that they were written to, in a template or not.
func TestYAMLText(t *testing.T) {
	t.Parallel()
	texts := append(slices.Clone(hostileNames), "", " ", "yes", "off", "null", "~", "0x1", "0o7", "1_000", ".inf", "2001-01-01", "12:30:00", "-", "---", "a: b", "#", "*", "&a", "!x", "a,b", "\t", "\u2028", "\U0001f600")
	rendered := template.New("")
	if _, err := rendered.Parse("[" + quoted(texts) + "]"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := rendered.Execute(&out, nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := yaml.UnmarshalStrict([]byte(out.String()), &got); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if diff := cmp.Diff(texts, got); diff != "" {
		t.Errorf("unexpected texts (-want +got):\n%s", diff)
	}
}
