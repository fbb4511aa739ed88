// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"regexp"
	"strings"
	"testing"
)

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
