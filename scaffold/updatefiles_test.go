// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakePrograms puts a go and a make on the PATH that succeed, and note that they were called in the file "calls"; make
// fails as long as the file "broken" exists.
func fakePrograms(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	const script = "#!/bin/sh\necho \"$(basename $0) $*\" >> " + "FOLDER/calls\n"
	for name, text := range map[string]string{"go": script, "make": script + "test ! -e FOLDER/broken || { echo no rule; exit 2; }\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.ReplaceAll(text, "FOLDER", folder)), 0o700); err != nil { //nolint:gosec // a program must be executable
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	return folder
}

// TestUnfinishedUpdate has what follows an update fail, and be interrupted: the next update makes up for it although no
// file differs any more.
func TestUnfinishedUpdate(t *testing.T) {
	folder := newProject(t)
	programs := fakePrograms(t)
	calls := func() string {
		content, _ := os.ReadFile(filepath.Join(programs, "calls"))
		return string(content)
	}
	update := func(ctx context.Context, arguments ...string) (string, error) {
		var shown bytes.Buffer
		command := newCommand()
		command.SetOut(&shown)
		command.SetErr(&shown)
		command.SetArgs(append(arguments, "--update", folder))
		err := command.ExecuteContext(ctx)
		return shown.String(), err
	}
	if err := os.WriteFile(filepath.Join(programs, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"--image=example.org/shop:v2"}, nil} {
		_, err := update(t.Context(), arguments...)
		if err == nil || !strings.Contains(err.Error(), "no rule") || !strings.Contains(err.Error(), "Some files of "+folder+" are updated already; run the same command again") {
			t.Fatalf("%v: got %v", arguments, err)
		}
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err := update(interrupted)
	if text := interruption(err); !strings.Contains(text, "some files of "+folder+" are updated already") {
		t.Errorf("got %q for %v", text, err)
	}
	remove(t, programs, "broken")
	before := calls()
	if shown, err := update(t.Context()); err != nil || calls() == before {
		t.Errorf("what follows the update was not done: %v\n%s", err, shown)
	}
	before = calls()
	if shown, err := update(t.Context()); err != nil || calls() != before {
		t.Errorf("what follows the update was done again: %v\n%s", err, shown)
	}
	if text := interruption(context.Canceled); text != "interrupted; nothing was written" {
		t.Errorf("got %q", text)
	}
}

// TestHalfWrittenUpdate has an update fail between two files: the same update completes it.
func TestHalfWrittenUpdate(t *testing.T) {
	t.Parallel()
	folder := newProject(t)
	obstacle := filepath.Join(folder, "chart", "values.yaml.scaffold-new", "x")
	if err := os.MkdirAll(obstacle, 0o750); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--update", "--image=example.org/shop:v2", "--served-version=v1,v1beta1", folder}
	if _, err := scaffold(t, flags...); err == nil || !strings.Contains(err.Error(), "values.yaml") {
		t.Fatalf("got error %v", err)
	}
	if got := files(t, folder); !strings.Contains(got["Makefile"], "shop:v2") || strings.Contains(got["chart/values.yaml"], "example.org/shop") {
		t.Fatal("the update must fail between two files")
	}
	if err := os.RemoveAll(filepath.Dir(obstacle)); err != nil {
		t.Fatal(err)
	}
	if shown, err := scaffold(t, flags...); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	if diff := cmp.Diff(files(t, newProject(t, flags[1:3]...)), files(t, folder)); diff != "" {
		t.Errorf("the update is not complete:\n%s", diff)
	}
	if shown, err := scaffold(t, "--update", folder); err != nil {
		t.Errorf("%v\n%s", err, shown)
	}
}

// TestFilesKeepTheirNature updates files that are links, executable, or have other line ends.
func TestFilesKeepTheirNature(t *testing.T) {
	t.Parallel()
	folder := newProject(t)
	content := files(t, folder)
	write(t, folder, "main.go", strings.ReplaceAll(content["main.go"], "\n", "\r\n"))
	write(t, folder, "Makefile", content["Makefile"]+"\n# mine\n")
	if err := os.Rename(filepath.Join(folder, "Makefile"), filepath.Join(folder, "real.mk")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.mk", filepath.Join(folder, "Makefile")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(folder, "chart/values.yaml"), 0o640); err != nil {
		t.Fatal(err)
	}
	if shown, err := scaffold(t, "--update", "--with-validating-webhook", "--image=example.org/shop:v2", folder); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	got := files(t, folder)
	fresh := files(t, newProject(t, "--with-validating-webhook", "--image=example.org/shop:v2"))
	if got["main.go"] != strings.ReplaceAll(fresh["main.go"], "\n", "\r\n") {
		t.Errorf("want the new lines with the line ends of the author, got:\n%q", got["main.go"])
	}
	if target, err := os.Readlink(filepath.Join(folder, "Makefile")); err != nil || target != "real.mk" || got["real.mk"] != fresh["Makefile"]+"\n# mine\n" {
		t.Errorf("the link has become %q (%v)", target, err)
	}
	if info, err := os.Stat(filepath.Join(folder, "chart/values.yaml")); err != nil || info.Mode().Perm() != 0o640 || got["chart/values.yaml"] != fresh["chart/values.yaml"] {
		t.Errorf("want the new content with the mode of the author, got %v, %v", info.Mode(), err)
	}

	outside := filepath.Join(t.TempDir(), "Makefile")
	if err := os.WriteFile(outside, []byte(got["real.mk"]), 0o600); err != nil {
		t.Fatal(err)
	}
	remove(t, folder, "Makefile")
	if err := os.Symlink(outside, filepath.Join(folder, "Makefile")); err != nil {
		t.Fatal(err)
	}
	before := files(t, folder)
	_, err := scaffold(t, "--update", "--image=example.org/shop:v3", folder)
	if err == nil || !strings.Contains(err.Error(), "Makefile: is behind a symbolic link to "+outside) {
		t.Errorf("got %v", err)
	}
	if after := files(t, folder); after["chart/values.yaml"] != before["chart/values.yaml"] {
		t.Error("something was written before the refusal")
	}
}

// TestFilesThatNoArchiveHolds updates files of a chart that a plain record could not hold, and names those that cannot
// be merged.
func TestFilesThatNoArchiveHolds(t *testing.T) {
	t.Parallel()
	const chart = "pkg/generator/chart/"
	content := func(version string) map[string]string {
		return map[string]string{"files/open": "version " + version, "files/marked": "-- a --\n" + version + "\n", "files/data": "\x00" + version, "files/mine": "\x00" + version}
	}
	folder := newProject(t, "--chart="+writeChart(t, "1.0.0", content("1")))
	write(t, folder, chart+"files/mine", "\x00edited")
	shown, err := scaffold(t, "--update", "--chart="+writeChart(t, "2.0.0", content("2")), folder)
	if err == nil || !strings.Contains(shown, chart+"files/mine: it stays as it is; you and scaffold have changed it, and its parts cannot be merged") {
		t.Errorf("got %v\n%s", err, shown)
	}
	got := files(t, folder)
	for path, want := range content("2") {
		if path == "files/mine" {
			want = "\x00edited"
		}
		if got[chart+path] != want {
			t.Errorf("%s: want %q, got %q", path, want, got[chart+path])
		}
	}
}
