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

// TestDeletionThatHasToBeApproved deletes a release only with the digest that the refusal names, and nothing is done
// before.
func TestDeletionThatHasToBeApproved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	data := strings.Replace(configMap("data", "1"), "metadata: {", "metadata: {annotations: {clm.cs.sap.com/delete-policy: confirm-on-delete}, ", 1)
	p.must("apply", "web", p.file("app.yaml", data+configMap("other", "1")+job("bye", "deletion-hook", "pre-delete")))
	names := p.jobsThatAppear()
	const want = "release PLACE/web cannot be deleted: 1 of 2 dependents may be deleted only with approval: ConfigMap PLACE/data; " +
		"to delete the release with them: clm delete web -n PLACE --approve-deletions "
	var digest string
	for _, args := range [][]string{
		{"delete", "web"},
		{"delete", "web", "-y", "--skip-hooks"},
		{"delete", "web", "-y", "--approve-deletions", "0123456789abcdef"},
		{"delete", "web", "--dry-run"},
	} {
		got := p.clm(args...)
		p.expect(got, exitRefused, want)
		digest = regexp.MustCompile(`--approve-deletions ([0-9a-f]+)`).FindStringSubmatch(got.stderr)[1]
		if args[len(args)-1] == "--dry-run" && !strings.Contains(got.stdout, "Of these, the following may be deleted only with approval (--approve-deletions):\n  ConfigMap ") {
			t.Errorf("want it to be shown what has to be approved, got %s", got.stdout)
		}
	}
	if p.configMap("other") == nil || p.configMap("data") == nil || len(names("bye")) > 0 {
		t.Error("something has happened")
	}
	p.expect(p.clm("status", "web"), 0, "2 ready")
	p.must("delete", "web", "-y", "--approve-deletions", digest)
	if p.configMap("data") != nil || len(names("bye")) != 1 {
		t.Error("want the hook to have run, and the objects to be gone")
	}
}

// TestRevertAwaitsApproval: a first revision that fails is not deleted with what may be deleted only with approval.
func TestRevertAwaitsApproval(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	data := strings.Replace(configMap("data", "1"), "metadata: {", "metadata: {annotations: {clm.cs.sap.com/delete-policy: confirm-on-delete}, ", 1)
	got := p.clm("apply", "web", p.file("app.yaml", data+"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: NOT_A_NAME}}\n"), "--revert-on-failure")
	p.expect(got, 1, "✗ release PLACE/web was not deleted: 1 of 2 dependents may be deleted only with approval: ConfigMap PLACE/data; "+
		"fix the sources and apply them again, or delete the release: clm delete web -n PLACE")
	if p.configMap("data") == nil {
		t.Error("it was deleted without approval")
	}
}
