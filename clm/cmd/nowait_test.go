// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

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
	if status := p.clm("status", "web"); strings.Contains(status.stdout, "no process is working on it") || !strings.Contains(status.stdout, "Applying, and all dependents are ready") {
		t.Errorf("there is nothing to go on with, got %s", status.stdout)
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

// TestNoWaitEndsAtAWave ends at the first wave that is not ready, and the next command goes on with the next wave.
func TestNoWaitEndsAtAWave(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	slow := strings.Replace(configMap("slow", "1"), "metadata: {", "metadata: {annotations: {clm.cs.sap.com/ready-when: 'has(self.metadata.labels.go)'}, ", 1)
	second := strings.Replace(configMap("second", "1"), "name: second", `name: second, annotations: {clm.cs.sap.com/apply-order: "1"}`, 1)
	source := p.file("app.yaml", slow+second)
	for range 2 {
		p.expect(p.must("apply", "web", source, "--no-wait=wave"), 0, "release PLACE/web, revision 1, is applied up to the first wave that is not ready", "clm apply web SOURCE...")
		if p.configMap("slow") == nil || p.configMap("second") != nil {
			t.Error("want the first wave to be written, and not the second one")
		}
	}
	p.expect(p.clm("status", "web"), exitNotReady, "no process is working on it; to continue: clm apply")
	p.label("slow", "go")
	p.expect(p.must("apply", "web", source, "--no-wait=wave"), 0, "release PLACE/web, revision 1, is applied")
	if p.configMap("second") == nil {
		t.Error("want the second wave to be written")
	}
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
