// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/scaffold/internal/project"
)

// TestUntrustedFiles makes contents of files that somebody else has written, as the folder of a chart, as a packaged
// chart, and as a kustomization.
func TestUntrustedFiles(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		reason string
		files  []string
		// want is part of the refusal; empty if there is none.
		want string
	}{
		"a monitor of git":                   {"git status runs it", []string{"files/.git/config"}, "files/.git: a repository of a version control system cannot be in a project"},
		"a file that leads to a repository":  {"worktrees and submodules have one", []string{"files/.git"}, "files/.git: a repository"},
		"with a blank at the end":            {"Windows ignores it", []string{"files/.Git /config"}, "files/.Git : a repository"},
		"Subversion":                         {"the go command does not embed it", []string{"files/.svn/entries"}, "files/.svn: a repository"},
		"a bare repository":                  {"git finds it without .git", []string{"files/HEAD", "files/config", "files/objects/x", "files/refs/x"}, "files: a repository"},
		"a repository with parts elsewhere":  {"git follows commondir", []string{"files/head", "files/commondir"}, "files: a repository"},
		"a module":                           {"the go command does not embed it", []string{"files/go.mod"}, "files/go.mod: a folder with a Go module"},
		"Go code":                            {"the project ignores the folder", []string{"files/x_test.go", "x.go", "files/x.s"}, ""},
		"files of git that run nothing":      {"commands come from the user's configuration", []string{".gitattributes", ".gitignore", "files/.gitmodules"}, ""},
		"names that begin like a repository": {"they are none", []string{"files/.github/workflows/ci.yaml", "files/HEAD", "files/refs.txt"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := map[string]string{"kustomization.yaml": "resources: []\n", "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n"}
			for _, file := range row.files {
				all[file] = "content\n"
			}
			folder, packaged := t.TempDir(), filepath.Join(t.TempDir(), "shop.tgz")
			for file, content := range all {
				save(t, filepath.Join(folder, file), []byte(content))
			}
			save(t, packaged, pack(t, "shop/", all))
			for kind, read := range map[string]func() (*project.Contents, error){
				"folder":        func() (*project.Contents, error) { return project.Chart(t.Context(), request(folder)) },
				"archive":       func() (*project.Contents, error) { return project.Chart(t.Context(), request(packaged)) },
				"kustomization": func() (*project.Contents, error) { return project.Kustomization(t.Context(), request(folder)) },
			} {
				made, err := read()
				switch {
				case row.want != "":
					if err == nil || !strings.Contains(err.Error(), row.want) {
						t.Errorf("%s: got error %v, want one with %q: %s", kind, err, row.want, row.reason)
					}
				case err != nil:
					t.Errorf("%s: got error %v: %s", kind, err, row.reason)
				default:
					if diff := cmp.Diff(slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(made.Files))); diff != "" {
						t.Errorf("%s: unexpected files: %s (-want +got):\n%s", kind, row.reason, diff)
					}
				}
			}
		})
	}
}

// pack returns an archive.
func pack(t *testing.T, prefix string, files map[string]string) []byte {
	t.Helper()
	var packed bytes.Buffer
	compressor := gzip.NewWriter(&packed)
	writer := tar.NewWriter(compressor)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writer.WriteHeader(&tar.Header{Name: prefix + name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	for _, closer := range []interface{ Close() error }{writer, compressor} {
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return packed.Bytes()
}

// TestLinks has symbolic links in folders. Those that leave the folder would copy files of whoever makes the project.
func TestLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	save(t, filepath.Join(outside, "id_rsa"), []byte("secret\n"))
	for name, row := range map[string]struct{ link, want string }{
		"to a file elsewhere":     {filepath.Join(outside, "id_rsa"), "files/notes.txt: a symbolic link must be relative, and lead to something in this folder"},
		"to a folder elsewhere":   {outside, "files/notes.txt: a symbolic link must be relative, and lead to something in this folder"},
		"to a file of the folder": {"../mine.txt", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "shop")
			for file, content := range map[string]string{
				"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "kustomization.yaml": "resources: []\n", "mine.txt": "mine\n", "files/a": "a\n", "../outside.txt": "secret\n",
			} {
				save(t, filepath.Join(folder, file), []byte(content))
			}
			if err := os.Symlink(row.link, filepath.Join(folder, "files/notes.txt")); err != nil {
				t.Fatal(err)
			}
			// The folder itself may be behind a link.
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(folder, link); err != nil {
				t.Fatal(err)
			}
			for _, read := range []func() (*project.Contents, error){
				func() (*project.Contents, error) { return project.Chart(t.Context(), request(link)) },
				func() (*project.Contents, error) { return project.Kustomization(t.Context(), request(link)) },
			} {
				made, err := read()
				switch {
				case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
					t.Errorf("got error %v, want one with %q", err, row.want)
				case row.want == "" && err != nil:
					t.Error(err)
				case row.want == "" && string(made.Files["files/notes.txt"]) != "mine\n":
					t.Errorf("got %q", made.Files["files/notes.txt"])
				}
			}
		})
	}
}

// TestCheckout makes contents of a kustomization that is the top of a repository: what git stores of it stays there.
func TestCheckout(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	save(t, filepath.Join(folder, "kustomization.yaml"), []byte("resources: []\n"))
	save(t, filepath.Join(folder, ".git/config"), []byte("[core]\n"))
	made, err := project.Kustomization(t.Context(), request(folder))
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Files) != 1 {
		t.Errorf("got files %v", slices.Sorted(maps.Keys(made.Files)))
	}
}
