// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const twoWaves = `
apiVersion: v1
kind: ConfigMap
metadata: {name: first, annotations: {clm.cs.sap.com/apply-order: "-1"}}
data: {value: "1"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: example.com/none}]}
`

func TestLifeOfARelease(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", twoWaves)
	p.must("apply", "web", source)
	if diff := cmp.Diff(map[string]string{"value": "1"}, p.configMap("first")); diff != "" {
		t.Error(diff)
	}
	if got := p.must("apply", "web", source); !strings.Contains(got.stderr, "revision 1, is up to date") {
		t.Errorf("expected nothing to be done, got %s", got.stderr)
	}
	changed := p.file("app.yaml", strings.Replace(twoWaves, `value: "1"`, `value: "2"`, 1))
	if got := p.clm("plan", "web", changed, "--exit-code"); got.code != exitChanges || !strings.Contains(got.stdout, "ConfigMap") {
		t.Errorf("expected a plan with a change, got exit code %d and %s", got.code, got.stdout)
	}
	p.must("apply", "web", changed)
	if diff := cmp.Diff(map[string]string{"value": "2"}, p.configMap("first")); diff != "" {
		t.Error(diff)
	}
	p.must("rollback", "web")
	if diff := cmp.Diff(map[string]string{"value": "1"}, p.configMap("first")); diff != "" {
		t.Error(diff)
	}
	var states []string
	for _, revision := range p.items(p.must("history", "web", "-o", "json").stdout) {
		states = append(states, p.text(revision, "status", "state")+", "+p.text(revision, "status", "description"))
	}
	if diff := cmp.Diff([]string{"Superseded, applied", "Superseded, applied", "Ready, rolled back to revision 1"}, states); diff != "" {
		t.Error(diff)
	}
	p.must("delete", "web")
	if names := p.names("v1", "ConfigMap"); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
	if got := p.must("ls"); got.stdout != "" {
		t.Errorf("expected no releases, got %s", got.stdout)
	}
}
