// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
			if isLease(request) && request.IsWatch() {
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

// TestApplyOfWhatIsDeletedMeanwhile has a process die that has planned to change a release which another one has deleted.
func TestApplyOfWhatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
	var once sync.Once
	var dead atomic.Bool
	x := newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if isLease(request) && request.IsWrite() {
				once.Do(func() { p.must("delete", "web") })
			}
			return !dead.Load()
		}
		x.after = func(request testenv.Request) bool {
			if request.Method == http.MethodPatch && request.Name == "clm.web" {
				dead.Store(true)
			}
			return true
		}
	})
	p.through(x).clm("apply", "web", p.file("app.yaml", configMap("a", "2")), "--timeout", "5s")
	if !dead.Load() {
		t.Error("want the process to die")
	}
	if records := p.records(); len(records) > 0 && !slices.Contains(records, "clm.web") {
		t.Errorf("want nothing to be kept of which nobody knows, got %v", records)
	}
}

func TestAppliesAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const rivals = 4
	var group sync.WaitGroup
	for i := range rivals {
		source := p.file("app.yaml", fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: own-%[1]d}, data: {value: \"%[1]d\"}}\n---\n"+
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {value: \"%[1]d\"}}", i))
		group.Go(func() {
			if got := p.clm("apply", "web", source); got.code != 0 {
				t.Errorf("exit code %d:\n%s", got.code, got.stderr)
			}
		})
	}
	group.Wait()
	p.expectHistory("Superseded", "Superseded", "Superseded", "Ready")
	winner := p.configMap("shared")["value"]
	if names := fmt.Sprint(p.names("v1", "ConfigMap")); names != "[own-"+winner+" shared]" {
		t.Errorf("%s has come last, but there are %s", winner, names)
	}
}

// TestRenewalsFail keeps the renewals of the lock from the server until the time is over.
func TestRenewalsFail(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.gated("1")
	isChange := func(request testenv.Request) bool { return request.IsWrite() && !isLease(request) }
	var changes, withheld atomic.Int64
	var once sync.Once
	x := newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if !isLease(request) || request.Method != http.MethodPut {
				return true
			}
			// They are tried again every second, from the fifth one on; the lock is relied upon until the tenth one.
			if withheld.Add(1) == 10 {
				once.Do(func() {
					changes.Store(int64(x.requests.Count(isChange)))
					p.openGate()
				})
			}
			return false
		}
	})
	// The gate is open then, and clm has been kept from going on for some seconds.
	got := p.through(x).timesOutWhen(func(said string) bool {
		return strings.Contains(said, "waiting for the API server to renew the lock") && withheld.Load() >= 16
	}, "apply", "web", source, "--timeout", "10m")
	p.expect(got, exitNotReady, "timed out after 10m", "waiting for the API server to renew the lock of release PLACE/web")
	if count := int64(x.requests.Count(isChange)); withheld.Load() == 0 || count != changes.Load() {
		t.Errorf("want nothing to be changed while the lock is in doubt, got %d requests instead of %d:\n%s", count, changes.Load(), x.requests)
	}
	p.expectEnds(value("1"), nil)
	p.must("apply", "web", source)
	p.expectEnds(value("1"), value("1"))
	p.expectHistory("Ready")
}
