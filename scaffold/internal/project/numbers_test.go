// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNumbersThatAreNoIntegers renders a project around a chart with such a value: controller-gen takes its type only with an option.
func TestNumbersThatAreNoIntegers(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"ratio: 0.5": "$(CONTROLLER_GEN) crd:allowDangerousTypes=true paths=./api/...",
		"ratio: 5":   "$(CONTROLLER_GEN) crd paths=./api/...",
	} {
		chart := t.TempDir()
		for path, content := range map[string]string{
			"Chart.yaml":            "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
			"values.yaml":           value + "\n",
			"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {ratio: '{{ .Values.ratio }}'}\n",
		} {
			path = filepath.Join(chart, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		options := variants["helm-plain"].options(t)
		options.Chart = chart
		if makefile := string(renderWith(t, options)["Makefile"].Content); !strings.Contains(makefile, want) {
			t.Errorf("%s: want %q in the Makefile", value, want)
		}
	}
}
