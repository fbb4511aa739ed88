// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNumbersThatAreNoIntegers renders a project around a chart with such a value: controller-gen takes its type only
// with an option.
func TestNumbersThatAreNoIntegers(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"ratio: 0.5": "$(CONTROLLER_GEN) crd:allowDangerousTypes=true paths=./api/...",
		"ratio: 5":   "$(CONTROLLER_GEN) crd paths=./api/...",
	} {
		chart := writeChart(t, value+"\n", "data: {ratio: '{{ .Values.ratio }}'}\n")
		options := variants["helm-convert"].options(t)
		options.Chart = chart
		if makefile := string(renderWith(t, options)["Makefile"]); !strings.Contains(makefile, want) {
			t.Errorf("%s: want %q in the Makefile", value, want)
		}
	}
}

// TestRandomValues renders a project around a chart that makes a password: the golden file of the generator must not
// have it.
func TestRandomValues(t *testing.T) {
	t.Parallel()
	for data, random := range map[string]bool{"data: {password: '{{ randAlphaNum 12 }}'}\n": true, "data: {}\n": false} {
		options := variants["helm-convert"].options(t)
		options.Chart = writeChart(t, "", data)
		tree := renderWith(t, options)
		if test := string(tree["pkg/generator/generator_test.go"]); strings.Contains(test, "GetSpec(), Random: true}") != random {
			t.Errorf("%s: want random values to be expected: %t, got:\n%s", data, random, test)
		}
		if readme := string(tree["chart/README.md"]); strings.Contains(readme, "make other values with each rendering") != random {
			t.Errorf("%s: want a note about random values: %t, got:\n%s", data, random, readme)
		}
	}
}

// writeChart writes a chart with values, and a ConfigMap that ends with the given text.
func writeChart(t *testing.T, values, data string) string {
	t.Helper()
	chart := t.TempDir()
	for path, content := range map[string]string{
		"Chart.yaml":            "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"values.yaml":           values,
		"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + data,
	} {
		path = filepath.Join(chart, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return chart
}
