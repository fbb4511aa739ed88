// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// failingJobs makes Jobs fail.
func failingJobs(jobs string) string {
	return strings.ReplaceAll(jobs, "template: {spec:", `template: {metadata: {annotations: {`+sandbox.AnnotationFail+`: "true"}}, spec:`)
}

// TestApplyHooks has hooks of Argo CD, which run once in each revision, and those for failures before the command ends.
func TestApplyHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	appeared := p.jobsThatAppear()
	const hook = "argocd.argoproj.io/hook"
	main := job("main", "update-policy", "recreate")
	hooks := job("smoke", hook, "PostSync,SyncFail", "argocd.argoproj.io/hook-delete-policy", "HookSucceeded,BeforeHookCreation") + job("alert", hook, "SyncFail", "argocd.argoproj.io/sync-wave", "1")
	seed := job("seed", hook, "PreSync", "argocd.argoproj.io/sync-options", "Replace=true")
	hooks += seed
	// Argo CD has run this one before, and left it.
	left := testenv.Object(t, seed)
	left.SetNamespace(p.namespace)
	left.SetFinalizers([]string{"argocd.argoproj.io/hook-finalizer"})
	if err := p.client.Create(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	source := func(main string) string { return p.file("app.yaml", configMap("a", "1")+main+hooks) }
	apply := func(main string, more ...string) result {
		return p.clm(append([]string{"apply", "web", source(main), "--yes"}, more...)...)
	}
	expectJobs := func(reason string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{"seed"}, want...), appeared("")); diff != "" {
			t.Errorf("%s: Jobs (-want +got):\n%s", reason, diff)
		}
	}
	p.expect(apply(main, "--hooks", "argocd"), 0, "release PLACE/web, revision 1, is ready")
	expectJobs("creation", "seed", "main", "smoke")
	p.expect(apply(main), 0)
	expectJobs("nothing has changed", "seed", "main", "smoke")
	p.expect(apply(failingJobs(main)), exitNotReady, "Job PLACE/main", "failed")
	expectJobs("failure", "seed", "main", "smoke", "seed", "main", "smoke-syncfail", "alert")
	if names := p.names("batch/v1", "Job"); !slices.Equal(names, []string{"alert", "main", "seed"}) {
		t.Errorf("want the hooks to go as their policies say, got %v", names)
	}
	p.expect(apply(failingJobs(main)), exitNotReady, "Job PLACE/main")
	expectJobs("the same revision again", "seed", "main", "smoke", "seed", "main", "smoke-syncfail", "alert", "main")
	p.expect(apply(main), 0, "release PLACE/web, revision 3, is ready")
	expectJobs("repair", "seed", "main", "smoke", "seed", "main", "smoke-syncfail", "alert", "main", "seed", "main", "smoke")

	if revisions := p.must("history", "web", "-o", "jsonpath={.items[*].status.hooks}").stdout; revisions != "argocd argocd argocd" {
		t.Errorf("want the tools to be remembered, got %q", revisions)
	}
	slow := main + deployment("slow", "", neverScheduled)
	p.expect(apply(slow, "--no-wait=all"), 0, "release PLACE/web, revision 4, is applied", "To run the post-apply hooks when it is ready: clm apply web SOURCE...")
	expectJobs("it is not ready", "seed", "main", "smoke", "seed", "main", "smoke-syncfail", "alert", "main", "seed", "main", "smoke", "seed")
	p.expect(p.clm("plan", "web", source(main), "--hooks", "none"), 0, "Job PLACE/alert  (update", "Job PLACE/smoke  (create")
	p.must("delete", "web")
}
