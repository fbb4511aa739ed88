// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scaffold runs the command, without steps that need other programs, and returns what it shows.
func scaffold(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	var shown bytes.Buffer
	command := newCommand()
	command.SetOut(&shown)
	command.SetErr(&shown)
	command.SetIn(strings.NewReader(""))
	command.SetArgs(append([]string{"--skip-post-processing"}, arguments...))
	err := command.ExecuteContext(t.Context())
	return shown.String(), err
}

// newProject makes a project.
func newProject(t *testing.T, flags ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "project")
	shown, err := scaffold(t, append([]string{
		"--group-name=shop.example.org", "--kind=WebShop", "--operator-name=webshop.shop.example.org", "--go-module=example.org/webshop-operator",
		"--runtime-version=v1.0.0", folder,
	}, flags...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	return folder
}

// files returns the content of all files of a project, apart from the record.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if name := strings.TrimPrefix(path, folder+"/"); !strings.HasPrefix(name, ".scaffold/") {
			found[name] = string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestUpdateWithoutChanges changes nothing, whatever was edited.
func TestUpdateWithoutChanges(t *testing.T) {
	t.Parallel()
	folder := newProject(t)
	for path, content := range files(t, folder) {
		write(t, folder, path, content+"\n# edited\n")
	}
	remove(t, folder, "CHANGELOG.md")
	edited := files(t, folder)
	shown, err := scaffold(t, "--update", folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(edited, files(t, folder)); diff != "" {
		t.Errorf("files have changed:\n%s", diff)
	}
	if want := folder + " is up to date.\n"; shown != want {
		t.Errorf("got %q, want %q", shown, want)
	}
}

// TestUpdateAfterEdits edits each file where the update does not, and checks that both changes are there.
func TestUpdateAfterEdits(t *testing.T) {
	t.Parallel()
	folder := newProject(t)
	want := files(t, newProject(t, "--with-validating-webhook", "--with-mutating-webhook", "--license=Apache-2.0", "--spdx-license-headers", "--image=example.org/shop:v2"))
	const edit = "\n// edited\n"
	for path, content := range files(t, folder) {
		if path == "go.mod" {
			content = strings.Replace(content, "require (", "require (\n\texample.org/mine v1.0.0", 1)
			write(t, folder, path, content)
			continue
		}
		write(t, folder, path, content+edit)
	}
	shown, err := scaffold(t, "--update", "--with-validating-webhook", "--with-mutating-webhook", "--license=Apache-2.0", "--spdx-license-headers",
		"--image=example.org/shop:v2", folder)
	got := files(t, folder)
	var conflicts []string
	for path, content := range want {
		switch {
		case path == "go.mod":
			if !strings.Contains(got[path], "example.org/mine v1.0.0") {
				t.Errorf("the requirement of the author is lost:\n%s", got[path])
			}
		case got[path] == content+edit, got[path] == content: // edited, or new
		default:
			conflicts = append(conflicts, path)
			if !strings.HasSuffix(got[path], edit) || !strings.Contains(shown, path+": it stays as it is; you and scaffold have changed the same lines") {
				t.Errorf("%s: want the edited file and a message, got:\n%s", path, got[path])
			}
		}
	}
	slices.Sort(conflicts)
	// The update adds to the end of these files, where the edit is.
	if diff := cmp.Diff([]string{"chart/templates/deployment.yaml", "chart/values.yaml", "main.go", "pkg/operator/operator_test.go"}, conflicts); diff != "" {
		t.Errorf("unexpected conflicts:\n%s", diff)
	}
	if (err != nil) != (len(conflicts) > 0) {
		t.Errorf("got error %v with %d conflicts", err, len(conflicts))
	}
	if !strings.Contains(shown, "+++ b/pkg/webhook/webhook.go") {
		t.Errorf("want a diff, got:\n%s", shown)
	}
}

// TestConflicts has a row for each way in which an edit contradicts the update.
func TestConflicts(t *testing.T) {
	t.Parallel()
	const path = "Makefile"
	for name, row := range map[string]struct {
		edit    func(t *testing.T, folder string)
		flags   []string
		message string
		content string
	}{
		"the same line": {
			func(t *testing.T, folder string) {
				t.Helper()
				replace(t, folder, path, "webshop-operator:latest", "mine:v1")
			},
			nil, "Makefile: it stays as it is; you and scaffold have changed the same lines in 1 places", "IMAGE ?= mine:v1\n",
		},
		"the same line, with markers": {
			func(t *testing.T, folder string) {
				t.Helper()
				replace(t, folder, path, "webshop-operator:latest", "mine:v1")
			},
			[]string{"--conflict-markers"},
			"Makefile: it has conflict markers in 1 places",
			"<<<<<<< yours\nIMAGE ?= mine:v1\n=======\nIMAGE ?= example.org/shop:v2\n>>>>>>> scaffolded now\n",
		},
		"removed": {
			func(t *testing.T, folder string) { t.Helper(); remove(t, folder, path) },
			nil, "Makefile: you have removed it, and it stays removed", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := newProject(t)
			row.edit(t, folder)
			shown, err := scaffold(t, append([]string{"--update", "--image=example.org/shop:v2", folder}, row.flags...)...)
			if err == nil || !strings.Contains(err.Error(), "1 files need your decision") {
				t.Errorf("got error %v", err)
			}
			if !strings.Contains(shown, row.message) {
				t.Errorf("want the message %q, got:\n%s", row.message, shown)
			}
			if got := files(t, folder)[path]; !strings.Contains(got, row.content) || row.content == "" && got != "" {
				t.Errorf("want a file with %q, got:\n%s", row.content, got)
			}
			if got := files(t, folder)["chart/values.yaml"]; !strings.Contains(got, "repository: example.org/shop\n") {
				t.Errorf("the other files are not updated:\n%s", got)
			}
		})
	}
}

// TestUpdateOnlyShows checks that a dry run shows the diff, and changes nothing.
func TestUpdateOnlyShows(t *testing.T) {
	t.Parallel()
	folder := newProject(t)
	before := files(t, folder)
	shown, err := scaffold(t, "--update", "--dry-run", "--image=example.org/shop:v2", folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+++ b/Makefile", "-IMAGE ?= webshop-operator:latest", "+IMAGE ?= example.org/shop:v2"} {
		if !strings.Contains(shown, want) {
			t.Errorf("want a diff with %q, got:\n%s", want, shown)
		}
	}
	if diff := cmp.Diff(before, files(t, folder)); diff != "" {
		t.Errorf("files have changed:\n%s", diff)
	}
}

func TestUpdateRefusals(t *testing.T) {
	t.Parallel()
	if _, err := scaffold(t, "--update", t.TempDir()); err == nil || !strings.Contains(err.Error(), "it is not a project that scaffold made") {
		t.Errorf("a folder without a record: got error %v", err)
	}
	folder := newProject(t)
	before := files(t, folder)
	for flag, value := range map[string]string{"kind": "Store", "group-name": "other.example.org", "resource": "stores", "operator-name": "other.example.org"} {
		if _, err := scaffold(t, "--update", "--"+flag+"="+value, folder); err == nil || !strings.Contains(err.Error(), "--"+flag+`: invalid value "`+value+`": an update cannot change it`) {
			t.Errorf("another identity: got error %v", err)
		}
	}
	if _, err := scaffold(t, "--update", "--license=x", folder); err == nil || !strings.Contains(err.Error(), `--license: invalid value "x"`) {
		t.Errorf("a bad value: got error %v", err)
	}
	write(t, folder, ".scaffold/options.yaml", "kinds: x\n")
	if _, err := scaffold(t, "--update", folder); err == nil || !strings.Contains(err.Error(), `unknown field "kinds"`) {
		t.Errorf("a broken record: got error %v", err)
	}
	if diff := cmp.Diff(before, files(t, folder)); diff != "" {
		t.Errorf("files have changed:\n%s", diff)
	}
}

func write(t *testing.T, folder, path, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, path), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, folder, path string) {
	t.Helper()
	if err := os.Remove(filepath.Join(folder, path)); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, folder, path, old, replacement string) {
	t.Helper()
	content := files(t, folder)[path]
	if !strings.Contains(content, old) {
		t.Fatalf("%s has no %q", path, old)
	}
	write(t, folder, path, strings.Replace(content, old, replacement, 1))
}

// TestUpdateAddsVersion adds a version that is stored; the former one stays with its edits, and is left out in the end.
func TestUpdateAddsVersion(t *testing.T) {
	t.Parallel()
	folder := newProject(t)
	want := files(t, newProject(t, "--group-version=v1", "--served-version=v1alpha1"))
	const types, conversion = "api/v1alpha1/webshop_types.go", "api/v1alpha1/webshop_conversion.go"
	replace(t, folder, types, "}\n\n// WebShop is", "\n\t// Motto is an edit.\n\tMotto string `json:\"motto\"`\n}\n\n// WebShop is")
	want[types] = files(t, folder)[types]
	want[types] = strings.Replace(want[types], "// +kubebuilder:storageversion\n", "", 1)
	if shown, err := scaffold(t, "--update", "--group-version=v1", "--served-version=v1alpha1", folder); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	if diff := cmp.Diff(want, files(t, folder)); diff != "" {
		t.Errorf("unexpected files:\n%s", diff)
	}
	replace(t, folder, conversion, "\ttarget.Status =", "\ttarget.Spec.Motto = c.Spec.Motto\n\ttarget.Status =")
	shown, err := scaffold(t, "--update", "--served-version=", folder)
	for _, want := range []string{
		conversion + ": it stays as it is; scaffold has removed it, but you have changed it",
		"api/v1alpha1: the version is left out, but its folder has other files, such as webshop_conversion.go",
	} {
		if err == nil || !strings.Contains(shown, want) {
			t.Errorf("got error %v, want %q in:\n%s", err, want, shown)
		}
	}
	if got := files(t, folder); got["api/v1alpha1/doc.go"] != "" || got["chart/templates/_webhooks.tpl"] != "" {
		t.Error("the webhooks and versions that are not served are still there")
	}
}
