// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/util/yaml"
)

var update = flag.Bool("update", false, "write what Helm renders into the samples")

func TestSamples(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 60 {
		t.Errorf("got %d samples, want 60 at least", len(found))
	}
	for _, file := range found {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			s := readSample(t, file)
			folder := s.chart.dir(t)
			want, err := renderWithHelm(folder, s)
			want = sorted(want)
			if *update && err == nil {
				s.objects = printed(t, want)
				updateSample(t, file, s.objects)
			}
			checkError(t, "Helm", s, err)
			if diff := cmp.Diff(s.objects, printed(t, want)); diff != "" {
				t.Errorf("%s: unexpected objects of Helm (-want +got):\n%s", s.reason, diff)
			}

			for source, fsys := range map[string]fs.FS{"a folder": nil, "a file system": s.chart.fs(), "a folder as file system": os.DirFS(folder)} {
				path := "."
				if fsys == nil {
					path = folder
				}
				got, err := renderSample(t, fsys, path, s)
				checkError(t, source, s, err)
				if diff := cmp.Diff(want, sorted(got)); diff != "" {
					t.Errorf("%s: unexpected objects from %s (-Helm +got):\n%s", s.reason, source, diff)
				}
			}
		})
	}
}

// TestWholeNumbers shows which of Helm's two ways the runtime follows: whole numbers are what they are with --set.
func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	folder := files{
		"Chart.yaml":       "apiVersion: v2\nname: top\nversion: 1.2.3\n",
		"values.yaml":      "default: 10000000\n",
		"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {default: '{{ .Values.default }}', given: '{{ .Values.given }} {{ kindOf .Values.given }}'}\n",
	}.dir(t)
	set, err := strvals.Parse("given=20000000")
	if err != nil {
		t.Fatal(err)
	}
	want, err := templateWithHelm(folder, set, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range []any{int64(20_000_000), 20_000_000, uint32(20_000_000), json.Number("20000000")} {
		got, err := render(t.Context(), nil, folder, releaseWith(map[string]any{"given": given}, false))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T: unexpected objects (-Helm +got):\n%s", given, diff)
		}
	}
	if diff := cmp.Diff(object{"default": "1e+07", "given": "20000000 int64"}, want[0]["data"]); diff != "" {
		t.Errorf("unexpected data (-want +Helm):\n%s", diff)
	}
}

// renderSample gives the values as the spec of a component has them: with integers where a values file has floats.
func renderSample(t *testing.T, fsys fs.FS, path string, s sample) ([]object, error) {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal([]byte(s.values), &values); err != nil {
		t.Fatal(err)
	}
	return render(t.Context(), fsys, path, releaseWith(values, s.upgrade))
}

func checkError(t *testing.T, who string, s sample, err error) {
	t.Helper()
	switch {
	case err == nil && len(s.errors) > 0:
		t.Errorf("%s: %s yields no error", s.reason, who)
	case err != nil && len(s.errors) == 0:
		t.Errorf("%s: %s yields error %v", s.reason, who, err)
	}
	for _, part := range s.errors {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %s yields error %q, which lacks %q", s.reason, who, err, part)
		}
	}
}
