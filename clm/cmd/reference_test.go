// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// referencePages is the folder of the pages of the website about commands.
const referencePages = "../../website/content/reference/clm"

// TestReferencePages compares the pages about commands with what the commands say of themselves. With -golden.update, it
// writes the pages. Other pages in the folder are those of commands that no longer exist.
func TestReferencePages(t *testing.T) {
	t.Parallel()
	written := t.TempDir()
	root := newCommand()
	root.DisableAutoGenTag = true
	const own, first = "clm.md", "_index.md"
	frontMatter := func(path string) string {
		command := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".md"), "_", " ")
		if filepath.Base(path) == own {
			command += "\nweight: 99\ngroup: Command line\ndescription: All commands of clm, with their flags and examples."
		}
		return "---\ntitle: " + command + "\n---\n\n<!-- Written by \"make generate\". -->\n\n"
	}
	link := func(page string) string { return strings.Replace(page, own, first, 1) }
	if err := doc.GenMarkdownTreeCustom(root, written, frontMatter, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(written, own), filepath.Join(written, first)); err != nil {
		t.Fatal(err)
	}
	if *updateGolden {
		if err := os.RemoveAll(referencePages); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(referencePages, os.DirFS(written)); err != nil {
			t.Fatal(err)
		}
	}
	// git diff compares folders as well as files.
	if diff, err := exec.Command("git", "diff", "--no-index", written, referencePages).CombinedOutput(); err != nil {
		t.Errorf("the pages differ; make generate writes them: %v\n%s", err, diff)
	}
}

var manPages = flag.String("man", "", "folder to which TestManPages writes")

// TestManPages writes the man pages of a release. Each command has one.
func TestManPages(t *testing.T) {
	t.Parallel()
	folder := cmp.Or(*manPages, t.TempDir())
	root := newCommand()
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root, &doc.GenManHeader{Source: "component-operator-runtime", Manual: "clm"}, folder); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"clm.1", "clm-apply.1", "clm-dependency-update.1"} {
		if text, err := os.ReadFile(filepath.Join(folder, page)); err != nil || !strings.Contains(string(text), ".SH SYNOPSIS") {
			t.Errorf("%s: %v, %d bytes", page, err, len(text))
		}
	}
}

// TestOutputPageHasAllFields compares what commands print for programs with the tables of the page about it: each kind
// has rows, and these name each field.
func TestOutputPageHasAllFields(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../website/content/reference/clm-output.md")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	source := p.file("web.yaml", configMap("a", "1")+configMap("b", "1")+deployment("web", "", ""))
	p.must("apply", "web", source)
	p.expect(p.clm("apply", "bad", p.file("bad.yaml", configMap("c", "1")+"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: d}, data: {value: 1}}\n")), 1)
	p.change("a", "drift")
	if err := p.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	chart := p.chart(map[string]string{"a.yaml": configMap("A_b", "1")})
	p.write(filepath.Join(chart, "Chart.yaml"), "{apiVersion: v2, name: web, version: 1.0.0, dependencies: [{name: db, version: ^1, alias: store, repository: 'https://example.com'}]}")
	seen := map[string]bool{}
	for _, command := range []string{
		"ls", "status web", "status bad", "history web", "history bad", "tree web", "events web", "drift web", "doctor web", "test web", "version", "plan web " + source + " --diff",
		"lint " + p.file("lint.yaml", configMap("A_b", "1")), "dependency list " + chart, "images " + p.file("images.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}]}}"),
	} {
		raw := p.clm(append(strings.Fields(command), "-o", "json")...).stdout
		object := map[string]any{}
		if err := json.Unmarshal([]byte(raw), &object); err != nil {
			t.Fatalf("clm %s: %v in %s", command, err, raw)
		}
		items, isList := object["items"].([]any)
		if !isList {
			items = []any{object}
		}
		for _, item := range items {
			content, _ := item.(map[string]any)
			kind, _, _ := unstructured.NestedString(content, "kind")
			seen[kind] = true
			rows := rowsOf(string(page), kind)
			for _, field := range fieldsOf(content) {
				if !strings.Contains(rows, "`"+field+"`") {
					t.Errorf("clm %s prints %s.%s, but the page does not name it", command, kind, field)
				}
			}
		}
	}
	for _, kind := range []string{"Release", "Revision", "Tree", "Event", "Drift", "Finding", "LintFinding", "TestRun", "Dependency", "Image", "Plan", "Version"} {
		if !seen[kind] {
			t.Errorf("want each kind to be printed, but not %s", kind)
		}
	}
	p.must("delete", "web")
	p.must("delete", "bad")
}

// rowsOf returns the rows of a kind in the table of the page. The page refers to another section for plans.
func rowsOf(page, kind string) string {
	if kind == "Plan" {
		_, section, _ := strings.Cut(page, "\n## Plans\n")
		section, _, _ = strings.Cut(section, "\n## ")
		return section
	}
	var rows []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| `"+kind+"` |") {
			rows = append(rows, line)
		}
	}
	return strings.Join(rows, "")
}

// fieldsOf returns the names of the fields of an object that clm prints, or of those in its spec and its status.
func fieldsOf(content map[string]any) []string {
	var names []string
	for name, value := range content {
		switch name {
		case "apiVersion", "kind", "metadata":
		case "spec", "status":
			fields, _ := value.(map[string]any)
			for field := range fields {
				names = append(names, field)
			}
		default:
			names = append(names, name)
		}
	}
	return names
}
