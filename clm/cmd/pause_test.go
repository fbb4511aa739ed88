// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"net/http"
	"sync/atomic"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

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
