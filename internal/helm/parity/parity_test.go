// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
