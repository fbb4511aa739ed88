// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// argoDirectory returns manifests with hooks and waves of Argo CD, whose names have a prefix, and whose main Job may
// fail.
func argoDirectory(prefix string, fails bool) string {
	const (
		hook   = "argocd.argoproj.io/hook"
		policy = "argocd.argoproj.io/hook-delete-policy"
		wave   = "argocd.argoproj.io/sync-wave"
	)
	inWave := func(name, order string) string {
		return strings.Replace(configMap(name, "1"), "name: "+name, "name: "+name+", annotations: {"+wave+": \""+order+"\"}", 1)
	}
	main := job(prefix+"main", "update-policy", "recreate")
	if fails {
		main = failingJobs(main)
	}
	short := strings.Replace(job(prefix+"short", hook, "PreSync"), "spec: {backoffLimit", "spec: {ttlSecondsAfterFinished: 0, backoffLimit", 1)
	generated := strings.Replace(job("NAME", hook, "PreSync,PostSync", policy, "HookSucceeded"), "name: NAME", "generateName: "+prefix+"gen-", 1)
	return inWave(prefix+"early", "-5") + main + inWave(prefix+"late", "7") + job(prefix+"migrate", hook, "PreSync", policy, "HookSucceeded", wave, "-1") + short + generated +
		job(prefix+"report", hook, "PostSync", policy, "HookSucceeded", wave, "1") + job(prefix+"alert", hook, "SyncFail")
}

// TestDeathDuringArgoHooks kills clm at each write of an apply with hooks of Argo CD, and of one that fails, and has
// another process go on. No hook runs twice, and none is left out. Only a Job that Kubernetes deletes as soon as it has
// ended may run again: nobody can know how it ended if clm has died at that moment.
func TestDeathDuringArgoHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	jobs := p.jobsThatAppear()
	digest := regexp.MustCompile(`gen-[0-9a-f]{10}$`)
	// failed is whether the record says that the apply has failed: then the next one is another attempt, in which the
	// Job that has failed runs again.
	failed := func(name string) bool { return p.state(name) == "Failed" }
	var inFailure atomic.Int64
	killAtEach(t, 8, 16, func(m *mortal) func(int) bool {
		return func(k int) (killed bool) {
			name, before := fmt.Sprintf("r%d", k), 0
			ran := func() []string {
				var names []string
				for _, job := range jobs(name + "-")[before:] {
					names = append(names, digest.ReplaceAllString(strings.TrimPrefix(job, name+"-"), "gen"))
				}
				if i := slices.Index(names, "short"); i >= 0 {
					again := slices.DeleteFunc(slices.Clone(names[i+1:]), func(name string) bool { return name == "short" })
					names = append(names[:i+1], again...)
				}
				if len(names) > 3 {
					// These are in the same wave.
					slices.Sort(names[1:3])
				}
				return names
			}
			for _, phase := range []struct {
				fails bool
				want  []string
			}{
				{false, []string{"migrate", "gen", "short", "main", "gen", "report"}},
				{true, []string{"migrate", "gen", "short", "main", "alert"}},
			} {
				source := p.file(name+".yaml", argoDirectory(name+"-", phase.fails))
				code, again := 0, false
				if phase.fails {
					code = exitNotReady
				}
				if m.runTo(p, code, k, "apply", name, source, "--hooks", "argocd", "--yes") {
					killed = true
					count(&inFailure, phase.fails)
					again = phase.fails && failed(name)
					p.expect(p.clm("apply", name, source, "--hooks", "argocd", "--yes"), code)
				}
				testenv.Eventually(p, func() (bool, string) {
					want := phase.want
					if again {
						want = append(slices.Clip(want), "main")
					}
					diff := cmp.Diff(want, ran())
					return diff == "", fmt.Sprintf("killed at write %d: hooks ran (-want +got):\n%s", k, diff)
				})
				before = len(jobs(name + "-"))
			}
			p.succeeds("delete", name)
			return killed
		}
	})
	if inFailure.Load() < 14 {
		t.Errorf("killed at %d writes of applies that fail only", inFailure.Load())
	}
	p.expectNothing()
}

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
