// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"strings"
	"testing"
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
