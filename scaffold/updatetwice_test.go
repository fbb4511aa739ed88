// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeChart writes a chart of a version: one file changes between versions, one has no final newline.
func writeChart(t *testing.T, version string, more map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	content := map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: shop\nversion: " + version + "\n",
		"values.yaml":        "size: 1\n",
		"templates/a.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  one: \"1\"\n  two: \"2\"\n  three: \"3\"\n  four: \"4\"\n  five: \"5\"\n  version: \"" + version + "\"\n",
		"templates/old.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: old\n",
	}
	maps.Copy(content, more)
	for name, text := range content {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestUpdateOfAnEditedChart edits the chart of a project, updates the project around it, and then updates the chart:
// all edits are still there.
func TestUpdateOfAnEditedChart(t *testing.T) {
	t.Parallel()
	const templates = "pkg/generator/chart/templates/"
	first, second := writeChart(t, "1.0.0", nil), writeChart(t, "2.0.0", nil)
	folder := newProject(t, "--chart="+first)
	checkRecorded(t, folder, first)
	replace(t, folder, templates+"a.yaml", `one: "1"`, `one: "mine"`)
	mine := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\n"
	if err := os.WriteFile(filepath.Join(folder, templates+"mine.yaml"), []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	remove(t, folder, templates+"old.yaml")
	for range 2 {
		if shown, err := scaffold(t, "--update", folder); err != nil {
			t.Fatalf("%v\n%s", err, shown)
		}
	}
	if shown, err := scaffold(t, "--update", "--chart="+second, folder); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	checkRecorded(t, folder, second)
	got := files(t, folder)
	if content := got[templates+"a.yaml"]; !strings.Contains(content, `one: "mine"`) || !strings.Contains(content, `version: "2.0.0"`) {
		t.Errorf("want the edit and the new version, got:\n%s", content)
	}
	if got[templates+"mine.yaml"] != mine {
		t.Errorf("the added file has become %q", got[templates+"mine.yaml"])
	}
	if content, exists := got[templates+"old.yaml"]; exists {
		t.Errorf("the removed file is back:\n%s", content)
	}
}

// checkRecorded checks that the record of a project has the path of its chart relative to the project.
func checkRecorded(t *testing.T, folder, chart string) {
	t.Helper()
	relative, err := filepath.Rel(folder, chart)
	if err != nil {
		t.Fatal(err)
	}
	if content := contentOf(t, filepath.Join(folder, ".scaffold/options.yaml")); !strings.Contains(content, "\nchart: "+relative+"\n") {
		t.Errorf("want chart %s in the record, got:\n%s", relative, content)
	}
}

// TestUpdateToUntrustedCharts updates a project whose go.mod is from before charts were ignored by the go command, to a
// chart with Go code. A chart with a repository, or a link that leaves it, is refused, also if it is that of the
// project.
func TestUpdateToUntrustedCharts(t *testing.T) {
	t.Parallel()
	folder := newProject(t, "--chart="+writeChart(t, "1.0.0", nil))
	const ignore = "ignore ./pkg/generator/chart\n"
	replace(t, folder, "go.mod", ignore, "require example.org/indirect v1.0.0 // indirect, as the go command adds it\n")
	record := ".scaffold/files.txtar"
	content, err := os.ReadFile(filepath.Join(folder, record))
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, record, strings.Replace(string(content), ignore+"\n", "", 1))
	code := map[string]string{"files/x_test.go": "package files\n"}
	if shown, err := scaffold(t, "--update", "--chart="+writeChart(t, "2.0.0", code), folder); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	before := files(t, folder)
	if !strings.Contains(before["go.mod"], ignore) || before["pkg/generator/chart/files/x_test.go"] == "" {
		t.Errorf("the go command does not ignore the chart:\n%s", before["go.mod"])
	}
	linking := writeChart(t, "3.0.0", nil)
	if err := os.Symlink("/etc/hostname", filepath.Join(linking, "notes.txt")); err != nil {
		t.Fatal(err)
	}
	for chart, want := range map[string]string{
		linking: "notes.txt: a symbolic link must be relative, and lead to something in this folder",
		writeChart(t, "3.0.0", map[string]string{"files/.git/config": "[core]\n"}): "files/.git: a repository of a version control system cannot be in a project",
	} {
		if _, err := scaffold(t, "--update", "--chart="+chart, folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	if diff := cmp.Diff(before, files(t, folder)); diff != "" {
		t.Errorf("files have changed:\n%s", diff)
	}
	if err := os.MkdirAll(filepath.Join(folder, "pkg/generator/chart/files/.git"), 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, folder, "pkg/generator/chart/files/.git/config", "[core]\n")
	if _, err := scaffold(t, "--update", folder); err == nil || !strings.Contains(err.Error(), "files/.git: a repository") {
		t.Errorf("got error %v", err)
	}
}

// TestConflictsStayOpen updates a project twice that has a conflict: the second update finds it again, and can still
// show it in the file.
func TestConflictsStayOpen(t *testing.T) {
	t.Parallel()
	folder := newProject(t)
	replace(t, folder, "Makefile", "webshop-operator:latest", "mine:v1")
	for _, arguments := range [][]string{{"--update", "--image=example.org/shop:v2", folder}, {"--update", folder}} {
		shown, err := scaffold(t, arguments...)
		if err == nil || !strings.Contains(shown, "Makefile: it stays as it is; you and scaffold have changed the same lines") {
			t.Fatalf("%v: got %v\n%s", arguments, err, shown)
		}
	}
	if shown, err := scaffold(t, "--update", "--conflict-markers", folder); err == nil || !strings.Contains(shown, "it has conflict markers in 1 places") {
		t.Fatalf("got %v\n%s", err, shown)
	}
	const marked = "<<<<<<< yours\nIMAGE ?= mine:v1\n=======\nIMAGE ?= example.org/shop:v2\n>>>>>>> scaffolded now\n"
	replace(t, folder, "Makefile", marked, "IMAGE ?= mine:v2\n")
	if shown, err := scaffold(t, "--update", folder); err != nil {
		t.Errorf("the conflict is resolved, got %v\n%s", err, shown)
	}
	if content := files(t, folder)["Makefile"]; !strings.Contains(content, "IMAGE ?= mine:v2\n") {
		t.Errorf("the decision is lost:\n%s", content)
	}
}
