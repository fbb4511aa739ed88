// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
)

var minimal = files{
	"Chart.yaml":            metadata("minimal"),
	"templates/object.yaml": configMap("object", "a: b"),
}

func writeFiles(t *testing.T, folder string, f files) {
	t.Helper()
	for name, content := range f {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, chart *Chart) []string {
	t.Helper()
	objects, err := chart.Render(t.Context(), release(nil))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	return names
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		files  files
		path   string
		want   []string
	}{
		{"a path that leads out", minimal, "../x", []string{"reading chart ../x", "leads out of the file system"}},
		{"broken ignore file", minimal.with(files{".helmignore": "a/**/b"}), ".", []string{".helmignore", "**"}},
		{"library chart", minimal.with(files{"Chart.yaml": metadata("lib", "type: library")}), ".", []string{`chart lib has type "library"`, "application"}},
		{
			"declared dependencies are missing, even if they are disabled",
			minimal.with(files{"Chart.yaml": metadata("top", "dependencies:", "- {name: a, version: 1.x.x, condition: off}", "- {name: b, version: 1.x.x}")}), ".",
			[]string{"missing in folder charts: a 1.x.x, b 1.x.x"},
		},
		{"a file that is too large", minimal.with(files{"big.bin": strings.Repeat("x", int(loader.MaxDecompressedFileSize)+1)}), ".", []string{"big.bin has 5242881 bytes"}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			_, err := Load(tt.files.fs(), tt.path)
			if err == nil {
				t.Fatal("it was accepted")
			}
			expectParts(t, err.Error(), tt.want...)
		})
	}
}

func TestLoadFollowsSymbolicLinks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeFiles(t, folder, files{
		"chart/Chart.yaml":        metadata("linked"),
		"elsewhere/crds/one.yaml": configMap("from-folder", "a: b"),
		"elsewhere/two.yaml":      configMap("from-file", "a: b"),
	})
	link := func(target, name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("../elsewhere/crds", "chart/crds")
	link("../../elsewhere/two.yaml", "chart/templates/two.yaml")
	chart, err := Load(nil, filepath.Join(folder, "chart"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"from-folder", "from-file"}, names(t, chart)); diff != "" {
		t.Errorf("unexpected objects (-want +got):\n%s", diff)
	}

	link("..", "chart/templates/loop")
	if _, err = Load(nil, filepath.Join(folder, "chart")); err == nil {
		t.Fatal("a loop was accepted")
	}
	expectParts(t, err.Error(), "templates/loop is a symbolic link to a folder that contains it")
}

func TestFingerprintCoversAllFiles(t *testing.T) {
	t.Parallel()
	base := minimal.with(files{"charts/sub/Chart.yaml": metadata("sub"), "charts/sub/note.txt": "x", "a.txt": "x"})
	original := load(t, base).Fingerprint()
	if again := load(t, base).Fingerprint(); again != original {
		t.Error("it is not stable")
	}
	for reason, changed := range map[string]files{
		"a template":               {"templates/object.yaml": configMap("object", "a: c")},
		"a file of the dependency": {"charts/sub/note.txt": "y"},
		"content that moves":       {"a.txt": "", "charts/sub/note.txt": "xx"},
	} {
		if load(t, base.with(changed)).Fingerprint() == original {
			t.Errorf("%s: it does not change", reason)
		}
	}
}
