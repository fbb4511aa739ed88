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

// inVain makes Jobs fail.
func inVain(jobs string) string {
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
	p.expect(apply(inVain(main)), exitNotReady, "Job PLACE/main", "failed")
	expectJobs("failure", "seed", "main", "smoke", "seed", "main", "smoke-syncfail", "alert")
	if names := p.names("batch/v1", "Job"); !slices.Equal(names, []string{"alert", "main", "seed"}) {
		t.Errorf("want the hooks to go as their policies say, got %v", names)
	}
	p.expect(apply(inVain(main)), exitNotReady, "Job PLACE/main")
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

// TestPlanOfApplyHooks shows hooks after everything else.
func TestPlanOfApplyHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("old", "1")))
	plan := p.clm("plan", "web", p.file("app.yaml", configMap("new", "1")+job("smoke", "apply-hook", "post-apply", "apply-order", "3")+job("alert", "apply-hook", "on-failure"))).stdout
	at := func(text string) int {
		t.Helper()
		found := strings.Index(plan, text)
		if found < 0 {
			t.Fatalf("want %q in\n%s", text, plan)
		}
		return found
	}
	if at("new") > at("old") || at("old") > at("smoke") || strings.Contains(plan, "alert") {
		t.Errorf("got\n%s", plan)
	}
	p.must("delete", "web")
}

// TestPlanOfHooksThatStay counts hooks whose manifests are the same in one line, whether they are still there or were removed after they had succeeded.
func TestPlanOfHooksThatStay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const each, policy = "reconcile-policy", "on-object-or-component-change"
	hooks := job("kept", each, policy, "update-policy", "recreate") + job("removed", each, policy, "purge-order", "1")
	source := func(value, hooks string) string {
		return p.file("app.yaml", configMap("a", value)+configMap("b", "1")+hooks)
	}
	p.must("apply", "web", source("1", hooks))
	for _, test := range []struct {
		reason, source string
		args           []string
		want           []string
	}{
		{"the same hooks", source("2", hooks), nil, []string{
			"~ ConfigMap PLACE/a  (update: the manifest changed)\n↻ 2 hooks run again, unchanged: Job PLACE/kept, Job PLACE/removed\n1 to update, 2 to run again, 1 unchanged\n",
		}},
		{"their content does not change", source("2", hooks), []string{"--diff"}, []string{"\n\n↻ 2 hooks run again, unchanged: Job PLACE/kept, Job PLACE/removed\n1 to update, 2 to run again, 1 unchanged\n"}},
		{"a pull request", source("2", hooks), []string{"-o", "markdown"}, []string{"| ConfigMap PLACE/a | update | the manifest changed |\n\n2 hooks run again, unchanged: Job PLACE/kept, Job PLACE/removed\n"}},
		{"programs are told of each of them", source("2", hooks), []string{"-o", "json"}, []string{
			"\"action\": \"recreate\",\n            \"repeats\": true", "\"action\": \"create\",\n            \"repeats\": true", `"summary": "1 to update, 2 to run again, 1 unchanged"`,
		}},
		{"one of them is another one", source("1", inVain(job("kept", each, policy, "update-policy", "recreate"))+job("removed", each, policy, "purge-order", "1")), nil, []string{
			"± Job PLACE/kept  (recreate: the manifest changed)  [local]\n↻ 1 hook runs again, unchanged: Job PLACE/removed\n1 to recreate, 1 to run again, 2 unchanged\n",
		}},
		{"nothing changes, so nothing runs", source("1", hooks), nil, []string{"\nnothing to do, 4 unchanged\n"}},
	} {
		p.expect(p.clm(append([]string{"plan", "web", test.source}, test.args...)...), 0, test.want...)
		if t.Failed() {
			t.Fatal(test.reason)
		}
	}
	// What is done is called what the plan calls it.
	p.expect(p.clm("apply", "web", source("2", hooks)), 0, "Job PLACE/kept: run again", "Job PLACE/removed: run again", "(1 completed, 1 run again, 1 updated, 1 unchanged, ")
	changed := job("kept", each, policy, "update-policy", "recreate", "other", "annotation") + job("removed", each, policy, "purge-order", "1")
	p.expect(p.clm("plan", "web", source("2", changed)), 0, "± Job PLACE/kept  (recreate: the manifest changed)", "1 to recreate, 1 to run again, 2 unchanged")
	p.expect(p.clm("apply", "web", source("2", changed)), 0, "Job PLACE/kept: recreated", "Job PLACE/removed: run again", "(1 completed, 1 recreated, 2 unchanged, ")
	p.must("delete", "web")
}

// TestHooksOfAnInstallationRunAgain upgrades a chart whose hooks were run by the installation, which records nothing of their content, or left alone by a rollback.
func TestHooksOfAnInstallationRunAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hook := func(name, deletePolicy string) string {
		return job(name, "helm.sh/hook", "pre-install,pre-upgrade", "helm.sh/hook-delete-policy", deletePolicy, "example.com/revision", "{{ .Values.hooks }}")
	}
	chart := p.chart(map[string]string{"a.yaml": configMap("a", "{{ .Values.value }}"), "stays.yaml": hook("stays", "before-hook-creation"), "goes.yaml": hook("goes", "hook-succeeded")})
	command := func(verb, value, hooks string) []string {
		return []string{verb, "web", chart, "--set", "value=" + value, "--set-string", "hooks=" + hooks}
	}
	const same = "update: the manifest changed)\n↻ 2 hooks run again, unchanged: Job PLACE/goes, Job PLACE/stays\n1 to update, 2 to run again\n"
	p.must(command("apply", "1", "1")...)
	p.expect(p.clm(command("plan", "2", "1")...), 0, same)
	p.expect(p.clm(command("plan", "1", "2")...), 0, "+ Job PLACE/goes  (create: has completed, and runs again)", "± Job PLACE/stays  (recreate: the manifest changed)", "1 to create, 1 to recreate, 1 unchanged")
	p.expect(p.clm(command("apply", "2", "1")...), 0, "Job PLACE/goes: run again", "Job PLACE/stays: run again", "(1 completed, 1 run again, 1 updated, ")
	p.expect(p.clm(command("plan", "3", "1")...), 0, same)
	p.must("rollback", "web")
	p.expect(p.clm(command("plan", "3", "1")...), 0, same)
	p.loseChunks()
	p.expect(p.clm(command("plan", "3", "1")...), 0, "± Job PLACE/stays  (recreate: the manifest changed)")
	p.must("delete", "web")
}
