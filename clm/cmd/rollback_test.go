// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A chart whose hooks write into ConfigMaps which revision they ran for. What a hook is runs at each event anew, so its content tells.
const hooksTemplate = `{{- range $event := list "pre-install" "pre-upgrade" "post-rollback" }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ $event }}, annotations: {helm.sh/hook: {{ $event }}}}
data: {value: {{ $.Values.text | quote }}}
{{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: regular}
data: {value: {{ .Values.text | quote }}}
`

// At a rollback, hooks of rollbacks are applied; those of installations and upgrades that the revision has stay as they are, and none is
// created. What the revision does not have goes, as at any change.
func TestHooksOfARollback(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := t.TempDir()
	p.write(filepath.Join(dir, "Chart.yaml"), "{apiVersion: v2, name: hooks, version: 1.0.0}")
	p.write(filepath.Join(dir, "templates", "all.yaml"), hooksTemplate)
	p.must("apply", "web", dir, "--set", "text=first")
	p.expectValues(map[string]string{"regular": "first", "pre-install": "first"})
	p.must("rollback", "web", "1")
	p.expectValues(map[string]string{"regular": "first", "pre-install": "first", "post-rollback": "first"})
	p.must("apply", "web", dir, "--set", "text=second")
	p.expectValues(map[string]string{"regular": "second", "pre-install": "first", "pre-upgrade": "second"})
	p.must("rollback", "web", "1")
	p.expectValues(map[string]string{"regular": "first", "pre-install": "first", "post-rollback": "first"})
	p.must("delete", "web")
	p.expectValues(map[string]string{})
}

// expectValues compares the values of all ConfigMaps of releases.
func (p *place) expectValues(want map[string]string) {
	p.Helper()
	got := map[string]string{}
	for _, name := range p.names("v1", "ConfigMap") {
		got[name] = p.configMap(name)["value"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("(-want +got):\n%s", diff)
	}
}
