// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestWaitAfterNoWait has one command apply, and another one wait.
func TestWaitAfterNoWait(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+deployment("web", "", "")), "--no-wait")
	got := p.must("wait", "web", "--timeout", "1m")
	p.expect(got, 0, "release PLACE/web, revision 1, is ready")
	p.expect(p.clm("status", "web"), 0)
	p.expect(p.clm("status", "web"), 0, "Ready, although no process has waited for that")
	for _, list := range []string{p.must("ls").stdout, p.must("ls", "--state", "Ready").stdout} {
		if !strings.Contains(list, "Ready") || strings.Contains(list, "not everything was ready") {
			t.Errorf("want it to be ready, got %s", list)
		}
	}
	if ready := p.must("status", "web", "-o", "jsonpath={.status.ready}").stdout; ready != "true" {
		t.Errorf("want it to be ready, got %q", ready)
	}

	// Redundant objects stay until the next apply; clm wait says so.
	p.must("apply", "web", p.file("app.yaml", deployment("web", "", "")+deployment("slow", "", neverScheduled)), "--no-wait")
	p.expect(p.clm("status", "web"), exitNotReady, "no process is working on it; to continue: clm apply")
	p.expect(p.timesOut("it is still to be deleted", "wait", "web", "--timeout", "10m"), exitNotReady,
		"it is Applying, and no process is working on it; to continue: clm apply", "ConfigMap PLACE/a: ", "it is still to be deleted", "waiting longer will not help")
	p.must("apply", "web", p.file("app.yaml", deployment("web", "", "")))
	p.must("wait", "web", "--timeout", "1m")
	p.must("delete", "web")
}

// TestJobsThatRemoveThemselves has Kubernetes delete Jobs as soon as they have ended, one of them a hook, of releases
// that are applied without waiting, by processes that are killed at each of their writes. Once such a release was
// applied, its Jobs are neither missing nor drift, and do not run again.
func TestJobsThatRemoveThemselves(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	jobs := p.jobsThatAppear()
	killAtEach(t, 8, 6, func(m *mortal) func(int) bool {
		return func(k int) (killed bool) {
			name := fmt.Sprintf("r%d", k)
			source := p.file(name+".yaml", configMap(name, "1")+
				strings.ReplaceAll(job(name+"-plain")+job(name+"-hook", "apply-order", "1", "reconcile-policy", "once"), "spec: {backoff", "spec: {ttlSecondsAfterFinished: 0, backoff"))
			killed = m.run(p, k, "apply", name, source, "--no-wait", "--yes")
			p.succeeds("apply", name, source, "--no-wait")
			testenv.Eventually(p, func() (bool, string) {
				got := p.clm("status", name)
				return got.code == 0 && len(p.jobs(name+"-")) == 0, fmt.Sprintf("killed at write %d: %s", k, got.stdout)
			})
			ran := jobs(name + "-")
			if !slices.Contains(ran, name+"-plain") || !slices.Contains(ran, name+"-hook") || !killed && len(ran) != 2 {
				p.Errorf("killed at write %d: Jobs ran: %v", k, ran)
			}
			p.expect(p.clm("plan", name, source, "--exit-code"), 0, "nothing to do")
			p.expect(p.clm("drift", name, "--exit-code"), 0, "has not drifted")
			p.succeeds("wait", name)
			p.succeeds("apply", name, source)
			if diff := cmp.Diff(ran, jobs(name+"-")); diff != "" {
				p.Errorf("killed at write %d: Jobs ran again (-want +got):\n%s", k, diff)
			}
			p.succeeds("delete", name)
			return killed
		}
	})
	p.expectNothing()
}

// jobs returns the names of the Jobs that exist and have a prefix.
func (p *place) jobs(prefix string) []string {
	p.Helper()
	return slices.DeleteFunc(p.names("batch/v1", "Job"), func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

const neverScheduled = "no: such"

// TestWaitAfterAnInterrupt is about an operation that no process continues: clm wait says what is left.
func TestWaitAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := deployment("first", "", neverScheduled)
	second := strings.Replace(configMap("second", "1"), "name: second", `name: second, annotations: {clm.cs.sap.com/apply-order: "1"}`, 1)
	r := p.begin("apply", "web", p.file("app.yaml", first+second))
	testenv.Eventually(t, func() (bool, string) {
		return len(p.names("apps/v1", "Deployment")) > 0, "the first wave is not applied yet"
	})
	r.interrupt()
	if got := <-r.ended; got.code != exitInterrupted {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	p.expect(p.timesOut("it is still to be applied", "wait", "web", "--timeout", "10m"), exitNotReady, "no process is working on it; to continue: clm apply", "ConfigMap PLACE/second: ", "it is still to be applied")
	p.must("delete", "web")
}

// TestNoWaitForWaves writes all waves at once with --no-wait=all. With --no-wait, a wave waits for the one before.
func TestNoWaitForWaves(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := deployment("first", "", neverScheduled)
	second := strings.Replace(configMap("second", "1"), "name: second", `name: second, annotations: {clm.cs.sap.com/apply-order: "1"}`, 1)
	source := p.file("app.yaml", first+second)
	p.expect(p.timesOut("waiting until wave 0 is ready", "apply", "web", source, "--no-wait", "--timeout", "10m"), exitNotReady, "first")
	if names := p.names("v1", "ConfigMap"); len(names) > 0 {
		t.Errorf("the second wave did not wait: %v", names)
	}
	p.expect(p.must("apply", "web", source, "--no-wait=all"), 0, "release PLACE/web, revision 1, is applied")
	if names := p.names("v1", "ConfigMap"); len(names) != 1 {
		t.Errorf("the second wave was not written: %v", names)
	}
	p.expect(p.timesOut("first: waiting", "wait", "web", "--timeout", "10m"), exitNotReady, "first")
	p.expect(p.clm("apply", "web", source, "--no-wait=never"), 1, `"never" is not one of true, false, wave, all`)
	p.must("delete", "web")
}

// running is clm beside a test.
type running struct {
	interrupt context.CancelFunc
	ended     <-chan result
}

// begin runs clm beside the test.
func (p *place) begin(args ...string) *running {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	p.Cleanup(cancel)
	ended := make(chan result, 1)
	go func() { ended <- p.clmContext(ctx, args...) }()
	return &running{interrupt: cancel, ended: ended}
}

func TestWaitForARelease(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ready := p.begin("wait", "web")
	source := p.file("app.yaml", configMap("a", "1")+deployment("web", "", ""))
	p.must("apply", "web", source)
	got := <-ready.ended
	if got.code != 0 || !strings.Contains(got.stderr, "✓ release "+p.namespace+"/web, revision 1, is ready") {
		t.Errorf("got exit code %d, %s", got.code, got.stderr)
	}
	if got := p.must("wait", "web"); strings.Contains(got.stderr, "waiting") {
		t.Errorf("there is nothing to wait for, got %s", got.stderr)
	}
	gone := p.begin("wait", "web", "--for=deleted")
	p.must("delete", "web")
	if got := <-gone.ended; got.code != 0 || !strings.Contains(got.stderr, "✓ release "+p.namespace+"/web does not exist") {
		t.Errorf("got exit code %d, %s", got.code, got.stderr)
	}
	p.must("wait", "web", "--for=deleted")
}
