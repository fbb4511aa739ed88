// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// withPrunePolicy returns the manifest of a ConfigMap with a prune policy.
func withPrunePolicy(name, policy string) string {
	return strings.Replace(configMap(name, "1"), "metadata: {", "metadata: {annotations: {clm.cs.sap.com/prune-policy: "+policy+"}, ", 1)
}

// TestApprovedDeletions deletes what has to be approved only with the digest that the refusal names, and nothing is
// done before.
func TestApprovedDeletions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", withPrunePolicy("a", "confirm")+withPrunePolicy("b", "keep")+configMap("c", "1")))
	less := p.file("less.yaml", configMap("c", "2"))
	saved := filepath.Join(t.TempDir(), "web.plan")
	const want = "1 of 2 dependents would be deleted, which needs approval because of the prune policy: ConfigMap PLACE/a; to delete them, apply the sources again with --approve-deletions "
	var digest string
	for _, args := range [][]string{
		{"plan", "web", less},
		{"plan", "web", less, "--out", saved},
		{"apply", "web", less, "--dry-run=server"},
		{"apply", "web", less, "--dry-run=client", "--approve-deletions", "0123456789abcdef"},
		{"apply", "web", less, "-y", "--diff"},
		{"apply", "web", less},
	} {
		got := p.clm(args...)
		p.expect(got, exitRefused, want)
		if args[0] == "plan" && !strings.Contains(got.stdout, "2 to keep") {
			t.Errorf("want the plan to show what stays, got %s", got.stdout)
		}
		digest = regexp.MustCompile(`--approve-deletions ([0-9a-f]+)`).FindStringSubmatch(got.stderr)[1]
	}
	if p.configMap("c")["value"] != "1" {
		t.Error("something was applied")
	}
	if got := p.must("plan", "web", less, "--approve-deletions", digest, "--out", saved).stdout; !strings.Contains(got, "1 to delete") {
		t.Errorf("want the deletion to be planned, got %s", got)
	}
	p.expect(p.clm("apply", "web", "--plan", saved), 0, "Kept, although no longer in the manifests: ConfigMap PLACE/b\n")
	if p.configMap("a") != nil || p.configMap("b") == nil {
		t.Error("want a to be deleted, and b to be kept")
	}
	if got := p.must("status", "web").stdout; !strings.Contains(got, "1 kept") || !strings.Contains(got, "ConfigMap "+p.namespace+"/b, although no longer in the manifests") {
		t.Errorf("want b to be counted and named, got %s", got)
	}
	p.must("delete", "web", "-y")
	if p.configMap("b") != nil {
		t.Error("b stays without its release")
	}
}

// TestPrune decides for all objects without a policy of their own.
func TestPrune(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", configMap("a", "1"))
	p.must("apply", "web", p.file("more.yaml", configMap("a", "1")+configMap("b", "1")+withPrunePolicy("c", "delete")))
	if got := p.must("plan", "web", source, "--prune", "report").stdout; !strings.Contains(got, "1 to delete") || !strings.Contains(got, "1 to keep") {
		t.Errorf("want the plan to show what stays, got %s", got)
	}
	p.must("apply", "web", source, "--prune", "report", "-y")
	if p.configMap("b") == nil || p.configMap("c") != nil {
		t.Error("want b to stay, and c to go")
	}
	p.expect(p.must("status", "web"), 0, "1 kept")
	p.expect(p.clm("apply", "web", source, "--prune", "confirm"), exitRefused, "ConfigMap PLACE/b; to delete them, apply the sources again with --approve-deletions")
	p.must("apply", "web", source, "-y")
	if p.configMap("b") != nil {
		t.Error("want b to go by default")
	}
	p.expect(p.clm("apply", "web", source, "--prune", "keep"), 1, `"keep" is not one of delete, confirm, report`)
	p.must("delete", "web")
}

// TestMisspeltAnnotations: a plan says that an annotation has no effect.
func TestMisspeltAnnotations(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", strings.Replace(configMap("a", "1"), "metadata: {", "metadata: {annotations: {clm.cs.sap.com/aply-order: \"1\", clm.cs.sap.con/apply-order: \"1\"}, ", 1))
	for _, args := range [][]string{{"plan", "web", source}, {"apply", "web", source, "-y"}} {
		p.expect(p.clm(args...), 0, "annotation clm.cs.sap.com/aply-order is not known, and has no effect; did you mean apply-order?",
			"annotation clm.cs.sap.con/apply-order has no effect; did you mean clm.cs.sap.com/apply-order?")
	}
}
