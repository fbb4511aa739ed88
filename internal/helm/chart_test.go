// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

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

func TestLoadFindsTheChart(t *testing.T) {
	folder := t.TempDir()
	writeFiles(t, folder, minimal.below("a/chart"))
	writeFiles(t, folder, files{"packaged.tgz": minimal.archive(t, "minimal")})
	t.Chdir(folder)
	nested := minimal.below("charts/demo").fs()
	nested["packaged.tgz"] = &fstest.MapFile{Data: []byte(minimal.archive(t, "minimal"))}

	load := func(chart *Chart, err error) *Chart {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return chart
	}
	for reason, chart := range map[string]*Chart{
		"relative path of the operating system":     load(Load(nil, "a/chart")),
		"relative path with dots":                   load(Load(nil, "./a/../a/chart/")),
		"absolute path of the operating system":     load(Load(nil, filepath.Join(folder, "a", "chart"))),
		"archive in the operating system":           load(Load(nil, "packaged.tgz")),
		"path in a file system":                     load(Load(nested, "charts/demo")),
		"path in a file system, with leading slash": load(Load(nested, "/charts/demo/")),
		"archive in a file system":                  load(Load(nested, "/packaged.tgz")),
		"root of a file system":                     load(Load(minimal.fs(), "/")),
		"root of a file system, as empty path":      load(Load(minimal.fs(), "")),
		"root of a folder":                          load(Load(os.DirFS("a/chart"), ".")),
	} {
		if diff := cmp.Diff([]string{"object"}, names(t, chart)); diff != "" {
			t.Errorf("%s: unexpected objects (-want +got):\n%s", reason, diff)
		}
		if chart.Name() != "minimal" {
			t.Errorf("%s: got name %s", reason, chart.Name())
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		files  files
		path   string
		want   []string
	}{
		{"no such folder", minimal, "missing", []string{"reading chart missing", "file does not exist"}},
		{"a path that leads out", minimal, "../x", []string{"reading chart ../x", "leads out of the file system"}},
		{"no metadata", files{"values.yaml": ""}, ".", []string{"Chart.yaml file is missing"}},
		{"broken metadata", files{"Chart.yaml": "{"}, ".", []string{"Chart.yaml"}},
		{"no name", files{"Chart.yaml": "apiVersion: v2\nversion: 1.0.0\n"}, ".", []string{"chart.metadata.name is required"}},
		{"broken values", minimal.with(files{"values.yaml": "a: [}"}), ".", []string{"values.yaml"}},
		{"broken ignore file", minimal.with(files{".helmignore": "a/**/b"}), ".", []string{".helmignore", "**"}},
		{"library chart", minimal.with(files{"Chart.yaml": metadata("lib", "type: library")}), ".", []string{`chart lib has type "library"`, "application"}},
		{
			"declared dependencies are missing, even if they are disabled",
			minimal.with(files{"Chart.yaml": metadata("top", "dependencies:", "- {name: a, version: 1.x.x, condition: off}", "- {name: b, version: 1.x.x}")}), ".",
			[]string{"missing in folder charts: a 1.x.x, b 1.x.x"},
		},
		{"broken dependency", minimal.with(files{"charts/a/Chart.yaml": metadata("a"), "charts/a/values.yaml": "["}), ".", []string{"subchart a", "values.yaml"}},
		{"broken packaged dependency", minimal.with(files{"charts/a-1.tgz": "no archive"}), ".", []string{"subchart a-1.tgz"}},
		{"a file that is no archive", minimal, "Chart.yaml", []string{"reading chart Chart.yaml", "neither a folder nor a gzip-compressed archive"}},
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
	t.Run("no such folder in the operating system", func(t *testing.T) {
		t.Parallel()
		_, err := Load(nil, filepath.Join(t.TempDir(), "missing"))
		if err == nil {
			t.Fatal("it was accepted")
		}
		expectParts(t, err.Error(), "missing", "no such file")
	})
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

func TestLoadIgnoresFiles(t *testing.T) {
	t.Parallel()
	chart := load(t, minimal.with(files{
		".helmignore":                   "\xef\xbb\xbf# comment\n*.bak\n/ignored/\ntemplates/skip*.yaml\n",
		"templates/object.yaml.bak":     "nonsense: [",
		"templates/skipped.yaml":        "nonsense: [",
		"templates/.hidden.yaml":        "nonsense: [",
		"templates/deeper/skipped.yaml": configMap("not-skipped", "a: b"),
		"ignored/file.txt":              "x",
		"templates/files.yaml":          configMap("files", `found: "{{ range $name, $_ := .Files }}{{ $name }} {{ end }}"`),
		"kept.txt":                      "x",
		"values.yaml":                   "\xef\xbb\xbfa: b\n",
	}))
	objects, err := chart.Render(t.Context(), release(nil))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, object := range objects {
		got[object.GetName()] = object.Object["data"]
	}
	want := map[string]any{
		"object":      map[string]any{"a": "b"},
		"not-skipped": map[string]any{"a": "b"},
		"files":       map[string]any{"found": ".helmignore kept.txt "},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected objects (-want +got):\n%s", diff)
	}
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
		"a further file":           {"b.txt": ""},
		"content that moves":       {"a.txt": "", "charts/sub/note.txt": "xx"},
	} {
		if load(t, base.with(changed)).Fingerprint() == original {
			t.Errorf("%s: it does not change", reason)
		}
	}
}
