// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestLookWhileAnOperationEnds ends an operation after its record was read and before its lock is: the release is shown
// as it is then.
func TestLookWhileAnOperationEnds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	applied := p.begin("apply", "web", p.gated("1"))
	p.reachGate()
	var once sync.Once
	late := p.through(newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if isLease(request) && request.Method == http.MethodGet {
				once.Do(func() {
					p.openGate()
					<-applied.ended
				})
			}
			return true
		}
	}))
	got := late.clm("status", "web")
	p.expect(got, 0)
	if !strings.Contains(got.stdout, "State:      Ready (for ") || strings.Contains(got.stdout, "no process is working on it") {
		t.Errorf("got\n%s", got.stdout)
	}
	p.must("delete", "web")
}

// TestChangesAfterAnInterrupt follows a release that becomes ready although no process works on it any more.
func TestChangesAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	applied := p.begin("apply", "web", p.file("gate.yaml", gate))
	p.reachGate()
	applied.interrupt()
	<-applied.ended
	status := &testenv.Output{}
	_, end := p.follow(status, "status", "web", "--watch")
	expectIn(t, status, "to wait until they are ready: clm wait")
	p.openGate()
	expectIn(t, status, "release "+p.namespace+"/web: Ready\n")
	if code := end(); code != 0 {
		t.Errorf("got exit code %d: %s", code, status)
	}
}
