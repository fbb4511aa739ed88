// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/testenv"
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

// TestDeathDuringArgoHooks kills clm at each request of an apply with hooks of Argo CD, and of one that fails, and has
// another process go on. No hook runs twice, and none is left out. Only a Job that Kubernetes deletes as soon as it has
// ended may run again: nobody can know how it ended if clm has died at that moment.
func TestDeathDuringArgoHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	jobs := p.jobsThatAppear()
	digest := regexp.MustCompile(`gen-[0-9a-f]{10}$`)
	var next, deaths atomic.Int64
	var group sync.WaitGroup
	// failed is whether the record says that the apply has failed: then the next one is another attempt, in which the
	// Job that has failed runs again.
	failed := func(name string) bool { return p.state(name) == "Failed" }
	for range 8 {
		m := newMortal(t, true)
		group.Go(func() {
			for killed := true; killed && !t.Failed(); {
				k := int(next.Add(1))
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
				killed = false
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
						count(&deaths, true)
						again = phase.fails && failed(name)
						p.expect(p.clm("apply", name, source, "--hooks", "argocd", "--yes"), code)
					}
					testenv.Eventually(p, func() (bool, string) {
						want := phase.want
						if again {
							want = append(slices.Clip(want), "main")
						}
						diff := cmp.Diff(want, ran())
						return diff == "", fmt.Sprintf("killed at request %d: hooks ran (-want +got):\n%s", k, diff)
					})
					before = len(jobs(name + "-"))
				}
				p.succeeds("delete", name)
			}
		})
	}
	group.Wait()
	t.Logf("killed at %d requests", deaths.Load())
	if deaths.Load() < 40 {
		t.Errorf("killed at %d requests only", deaths.Load())
	}
	p.expectNothing()
}
