// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// monitor is a role in a chart. Only who has its rights may write it.
const monitor = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .Release.Namespace }}-{{ .Release.Name }}-monitor
rules:
  - apiGroups: [""]
    resources: [nodes/metrics]
    verbs: [get]
  - nonResourceURLs: [/metrics, /metrics/*]
    verbs: [get]
`

// TestOperatorMayHandOutPaths checks that the operator has the rights of a role in its chart, and that the README lists
// them.
func TestOperatorMayHandOutPaths(t *testing.T) {
	t.Parallel()
	chart := t.TempDir()
	if err := os.CopyFS(chart, os.DirFS("testdata/chart")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(chart, "templates/monitor.yaml"), []byte(monitor), 0o600); err != nil {
		t.Fatal(err)
	}
	options := variants["helm-convert"].options(t)
	options.Chart = chart
	tree := renderWith(t, options)
	for path, want := range map[string]string{
		"chart/templates/clusterrole.yaml": "  # handed on by roles\n  - nonResourceURLs: [/metrics, \"/metrics/*\"]\n    verbs: [get]\n",
		"chart/README.md":                  "| cluster | `/metrics`, `/metrics/*` | get | handed on by roles |\n",
	} {
		if content := string(tree[path]); !strings.Contains(content, want) {
			t.Errorf("want in %s:\n%s\ngot:\n%s", path, want, content)
		}
	}
}
