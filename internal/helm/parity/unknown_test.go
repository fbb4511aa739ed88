// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/helm"
)

// TestNoTakenValueIsUnknown gives charts their own defaults, and samples their values.
func TestNoTakenValueIsUnknown(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("../../../examples/*/chart")
	if err != nil {
		t.Fatal(err)
	}
	created, err := chartutil.Create("created", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	charts := map[string]fs.FS{}
	for _, folder := range append(folders, created, "../../../bench/chart", "../../../scaffold/internal/project/testdata/chart") {
		charts[folder] = os.DirFS(folder)
	}
	given := map[string]string{}
	samples, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range samples {
		s := readSample(t, file)
		charts[file], given[file] = s.chart.fs(), s.values
	}
	for name, fsys := range charts {
		chart, err := helm.Load(fsys, ".")
		if err != nil {
			continue // another test is about the message
		}
		defaults, _ := fs.ReadFile(fsys, "values.yaml")
		for _, text := range []string{string(defaults), given[name]} {
			if unknown := unknownValues(t, chart, valuesIn(t, text)); len(unknown) > 0 {
				t.Errorf("%s: got unknown values %v among:\n%s", name, unknown, text)
			}
		}
	}
}

// TestUnknownValuesHaveNoEffect gives the samples their defaults as values, so that only the templates tell which are
// taken. The objects must be the same without the unknown ones.
func TestUnknownValuesHaveNoEffect(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range samples {
		s := readSample(t, file)
		given := valuesIn(t, s.chart["values.yaml"])
		maps.DeleteFunc(s.chart, func(name, _ string) bool {
			return filepath.Base(name) == "values.yaml" || filepath.Base(name) == "values.schema.json"
		})
		chart, err := helm.Load(s.chart.fs(), ".")
		if err != nil {
			continue
		}
		unknown := unknownValues(t, chart, given)
		if len(unknown) == 0 {
			continue
		}
		found++
		want, wantErr := render(t.Context(), s.chart.fs(), ".", releaseWith(given, s.upgrade))
		for _, path := range unknown {
			unstructured.RemoveNestedField(given, strings.Split(path, ".")...)
		}
		got, err := render(t.Context(), s.chart.fs(), ".", releaseWith(given, s.upgrade))
		if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: without the unknown values %v (-with +without):\n%s%v", file, unknown, diff, err)
		}
	}
	if found == 0 {
		t.Error("want defaults that no template reads")
	}
}

func valuesIn(t *testing.T, text string) map[string]any {
	t.Helper()
	values, err := helm.MergeValues(helm.ValuesInput{Files: []string{""}, Read: func(string) ([]byte, error) { return []byte(text), nil }})
	if err != nil {
		return nil // a sample is about the message
	}
	return values
}

func unknownValues(t *testing.T, chart *helm.Chart, given map[string]any) []string {
	t.Helper()
	unknown, err := chart.UnknownValues(given)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, value := range unknown {
		paths = append(paths, value.Path)
	}
	return paths
}
