// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"regexp"
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

// expectPlanOfAnother has a plan be refused in which a UID is changed.
func (p *place) expectPlanOfAnother(plan, field, reason string) {
	p.Helper()
	raw, err := os.ReadFile(plan)
	if err != nil {
		p.Fatal(err)
	}
	changed := regexp.MustCompile(`"`+field+`":"[^"]+"`).ReplaceAllString(string(raw), `"`+field+`":"another"`)
	if got := p.clm("apply", "web", "--plan", p.file("another.plan", changed)); got.code != exitRefused || !strings.Contains(got.stderr, reason) {
		p.Errorf("want a plan to be refused whose %s is another one, got exit code %d and %s", field, got.code, got.stderr)
	}
}

func TestASavedPlan(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+configMap("b", "1")))
	changed := p.file("app.yaml", configMap("a", "2")+configMap("b", "1"))
	plan := filepath.Join(t.TempDir(), "web.plan")
	p.must("plan", "web", changed, "--out", plan)
	if diff := cmp.Diff(map[string]string{"value": "1"}, p.configMap("a")); diff != "" {
		t.Errorf("a plan must change nothing: %s", diff)
	}
	p.must("apply", "web", "--plan", plan)
	if diff := cmp.Diff(map[string]string{"value": "2"}, p.configMap("a")); diff != "" {
		t.Error(diff)
	}
	if got := p.clm("apply", "web", "--plan", plan); got.code != exitRefused || !strings.Contains(got.stderr, "stale") {
		t.Errorf("expected that the plan is not carried out again, got exit code %d and %s", got.code, got.stderr)
	}
	p.must("plan", "web", p.file("app.yaml", configMap("a", "3")+configMap("b", "3")), "--out", plan)
	p.expectPlanOfAnother(plan, "cluster", "was created for another cluster")
	p.expectPlanOfAnother(plan, "record", "was created for another release named "+p.namespace+"/web")
	p.change("b", "by others")
	got := p.clm("apply", "web", "--plan", plan)
	if got.code != exitRefused || !strings.Contains(got.stderr, "ConfigMap "+p.namespace+"/b") {
		t.Errorf("expected that the plan is stale because of b, got exit code %d and %s", got.code, got.stderr)
	}
	if diff := cmp.Diff(map[string]string{"value": "2"}, p.configMap("a")); diff != "" {
		t.Errorf("nothing must be done by halves: %s", diff)
	}
	if n := len(p.items(p.must("history", "web", "-o", "json").stdout)); n != 2 {
		t.Errorf("a plan that is refused makes no revision, got %d revisions", n)
	}
	p.must("delete", "web")
}
