// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

func TestInterrupt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.gated("1")
	command, output := p.start("apply", "web", source)
	p.reachGate()
	testenv.Eventually(t, func() (bool, string) {
		return strings.Contains(output.String(), "gate: waiting"), output.String()
	})
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	if code := command.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("got %s", command.ProcessState)
	}
	for _, want := range []string{"Service " + p.namespace + "/gate: ", "interrupted (2 created", "Nothing is lost: to continue, run the same command again."} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, output)
		}
	}
	if p.locked("web") {
		t.Error("the lock was not given back")
	}
	p.expectEnds(value("1"), nil)
	p.expectHistory("Applying")
	p.openGate()
	p.must("apply", "web", source)
	p.expectEnds(value("1"), value("1"))
	p.expectHistory("Ready")

	command, output = p.start("delete", "web")
	if err := command.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, output)
	}
}

// TestInterruptTwice does not let a request be answered, for which the first interrupt waits for some time.
func TestInterruptTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.gated("1")
	reached, ended := make(chan struct{}), make(chan struct{})
	x := newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if !request.IsWrite() || request.Resource != "services" {
				return true
			}
			close(reached)
			<-ended
			return false
		}
	})
	command, output := p.through(x).start("apply", "web", source)
	<-reached
	waited := make(chan error, 1)
	go func() { waited <- command.Wait() }()
	// The second one counts when the first one was heard.
	testenv.Eventually(t, func() (bool, string) {
		_ = command.Process.Signal(os.Interrupt)
		return len(waited) > 0, output.String()
	})
	close(ended)
	<-waited
	if state, _ := command.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() || state.Signal() != syscall.SIGINT {
		t.Errorf("want the process to be ended by the signal, got %s:\n%s", command.ProcessState, output)
	}
	p.expectEnds(value("1"), nil)
	opened := p.background(t.Context(), "apply", "web", source)
	p.reachGate()
	p.openGate()
	if got := <-opened; got.code != 0 {
		t.Errorf("exit code %d:\n%s", got.code, got.stderr)
	}
	p.expectEnds(value("1"), value("1"))
	p.expectHistory("Ready")
}

// stall keeps requests from the server until it is over.
type stall struct {
	*proxy

	begun    atomic.Bool
	over     chan struct{}
	renewals chan struct{}
}

// newStall stalls the requests that the function selects, which include those that renew leases.
func newStall(t *testing.T, selected func(request testenv.Request) bool) *stall {
	t.Helper()
	s := &stall{over: make(chan struct{}), renewals: make(chan struct{}, 100)}
	s.proxy = newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if !s.begun.Load() || !selected(request) {
				return true
			}
			if isRenewal(request) {
				s.renewals <- struct{}{}
			}
			<-s.over
			return true
		}
	})
	return s
}

// awaitRenewal waits for a request that is to renew the lease of a process that has not ended.
func (s *stall) awaitRenewal(t *testing.T, done <-chan result) {
	t.Helper()
	select {
	case <-s.renewals:
	case got := <-done:
		close(s.over)
		t.Fatalf("clm has ended with exit code %d:\n%s", got.code, got.stderr)
	}
}

func isRenewal(request testenv.Request) bool {
	return isLease(request) && request.Method == http.MethodPut
}

// TestApplyOutlastsAPauseOfTheServer has the lease of the lock expire while no other process wants it.
func TestApplyOutlastsAPauseOfTheServer(t *testing.T) {
	t.Parallel()
	for reason, test := range map[string]struct {
		selected func(request testenv.Request) bool
		said     string
	}{
		"no request is answered": {func(testenv.Request) bool { return true }, ""},
		"writes are held back while the lock is in doubt": {
			isRenewal, "waiting for the API server to renew the lock of release PLACE/web, which was last renewed ",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s := newStall(t, test.selected)
			done := p.through(s.proxy).background(t.Context(), "apply", "web", p.gated("1"))
			p.reachGate()
			s.begun.Store(true)
			// The second one begins when the lease is not relied upon any more, and is given up by the third one.
			s.awaitRenewal(t, done)
			s.awaitRenewal(t, done)
			p.openGate()
			s.awaitRenewal(t, done)
			p.expectEnds(value("1"), nil)
			close(s.over)
			p.expect(<-done, 0, test.said, "revision 1, is ready")
			p.expectEnds(value("1"), value("1"))
			if p.locked("web") {
				t.Error("the lock was not given back")
			}
		})
	}
}

// TestApplyThatHasLostItsLock ends, and leaves the release to the process that has the lock.
func TestApplyThatHasLostItsLock(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	done := p.background(t.Context(), "apply", "web", p.gated("1"))
	p.reachGate()
	lease := &coordinationv1.Lease{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "clm.web"}, lease); err != nil {
		t.Fatal(err)
	}
	before := p.record("web")
	lease.Spec.HolderIdentity, lease.Annotations = new("rival@host/2"), nil
	if err := p.client.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	p.expect(<-done, 1, "the lock of release PLACE/web is lost", "run the same command again")
	if p.record("web") != before || !p.locked("web") {
		t.Error("the record and the lease are not as the rival has found them")
	}
}

// record is the version of what is recorded of a release.
func (p *place) record(name string) string {
	p.Helper()
	secret := &metav1.PartialObjectMetadata{}
	secret.APIVersion, secret.Kind = "v1", "Secret"
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: "clm." + name}, secret); err != nil {
		p.Fatal(err)
	}
	return secret.ResourceVersion
}

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
