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

func isLease(request testenv.Request) bool { return request.Resource == "leases" }

func TestTheSecondApplyWaits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	one, two := p.gated("1"), p.gated("2")
	first := p.background(t.Context(), "apply", "web", one)
	p.reachGate()
	waits := make(chan struct{})
	var once sync.Once
	x := newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if isLease(request) && request.Method == http.MethodGet {
				once.Do(func() { close(waits) })
			}
			return true
		}
	})
	second := p.through(x).background(t.Context(), "apply", "web", two)
	<-waits
	isWrite := func(request testenv.Request) bool { return request.IsWrite() && !isLease(request) }
	if writes := x.requests.Count(isWrite); writes > 0 {
		t.Errorf("whoever waits must not write anything but try to get the lock, got:\n%s", x.requests)
	}
	p.openGate()
	for name, done := range map[string]<-chan result{"first": first, "second": second} {
		got := <-done
		if got.code != 0 {
			t.Errorf("the %s apply has ended with exit code %d:\n%s", name, got.code, got.stderr)
		}
		if end := map[string]string{"first": "revision 1, is ready", "second": "revision 2, is ready"}[name]; !strings.Contains(got.stderr, end) {
			t.Errorf("the %s apply does not say how it has ended:\n%s", name, got.stderr)
		}
		if waited := strings.Contains(got.stderr, "waiting for the lock, held by "); waited != (name == "second") {
			t.Errorf("what the %s apply says of waiting for the lock is wrong:\n%s", name, got.stderr)
		}
	}
	p.expectEnds(value("2"), value("2"))
	p.expectHistory("Superseded", "Ready")
	if p.locked("web") {
		t.Error("the lock was not given back")
	}
}
