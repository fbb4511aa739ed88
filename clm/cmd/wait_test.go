// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
)

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

func TestWaitInVain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	got := p.timesOut("waiting until the release exists", "wait", "web", "--timeout", "10m")
	for _, want := range []string{"waiting until the release exists", "is not ready: timed out after 10m"} {
		if got.code != exitNotReady || !strings.Contains(got.stderr, want) {
			t.Errorf("%q is missing; got exit code %d, %s", want, got.code, got.stderr)
		}
	}
	p.timesOut("waiting until wave 0 is ready", "apply", "web", p.file("app.yaml", deployment("web", neverReady, "")), "--timeout", "10m")
	got = p.timesOut("web: waiting: 0/1 replicas", "wait", "web", "--timeout", "10m")
	for _, want := range []string{"it is Failed", "▸ Deployment " + p.namespace + "/web: creating for ", "0/1 replicas available", "timed out after 10m"} {
		if got.code != exitNotReady || !strings.Contains(got.stderr, want) {
			t.Errorf("%q is missing; got exit code %d, %s", want, got.code, got.stderr)
		}
	}
	got = p.timesOut("waiting until the release is deleted", "wait", "web", "--for=deleted", "--timeout", "10m", "-o", "json")
	if got.code != exitNotReady || !strings.Contains(got.stdout, `"type":"failed"`) || got.stderr != "" {
		t.Errorf("got exit code %d, %s%s", got.code, got.stdout, got.stderr)
	}
	if got := p.clm("wait", "web", "--for=luck"); got.code != 1 || !strings.Contains(got.stderr, `"luck" is not one of ready, deleted`) {
		t.Errorf("got exit code %d, %s", got.code, got.stderr)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if got := p.clmContext(ctx, "wait", "web"); got.code != exitInterrupted {
		t.Errorf("got exit code %d, %s", got.code, got.stderr)
	}
	testenv.Eventually(t, func() (bool, string) {
		got := p.clm("delete", "web")
		return got.code == 0, got.stderr
	})
}
