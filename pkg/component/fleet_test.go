// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/types"
)

func TestReplicasTakeOverFromEachOther(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 24)
	a, b, c := f.join("a", specObjects), f.join("b", specObjects), f.join("c", specObjects)
	f.declare(1)
	f.awaitContent(1)
	f.awaitShares(a, b, c)
	diff(t, "writes", 3*len(f.names), len(f.accepted()))
	f.isQuietAtRest()

	// One dies: the others have all components, those included that change meanwhile.
	a.cut()
	f.declare(2)
	f.awaitContent(2)
	f.awaitShares(b, c)
	a.set(nil)
	f.awaitShares(a, b, c)

	// One does not notice that it has lost its share.
	b.pause()
	f.declare(3)
	f.awaitContent(3)
	f.awaitShares(a, c)
	testenv.Eventually(t, func() (bool, string) {
		left := len(b.reconciler.worker.memories.all())
		return left == 0, fmt.Sprintf("%d components are still remembered by who has lost them", left)
	})
	b.set(nil)
	f.awaitShares(a, b, c)

	// Replicas come and go while everything changes.
	f.declare(4)
	d := f.join("d", specObjects)
	f.declare(5)
	c.stop()
	f.declare(6)
	f.awaitContent(6)
	f.awaitShares(a, b, d)
}

// isQuietAtRest counts requests while the leases are renewed some more times.
func (f *fleet) isQuietAtRest() {
	f.tb.Helper()
	isLease := func(request testenv.Request) bool { return request.Resource == "leases" && request.Name != "" }
	isMembers := func(request testenv.Request) bool { return request.Resource == "leases" && request.Name == "" }
	// while returns the requests until the leases were renewed some times or there was another request, apart from
	// watches.
	while := func(r *replica) (leases, others []testenv.Request) {
		f.tb.Helper()
		before := len(r.requests.All())
		testenv.Eventually(f.tb, func() (bool, string) {
			leases, others = nil, nil
			for _, request := range r.requests.All()[before:] {
				switch {
				case isLease(request):
					leases = append(leases, request)
				case !isNoise(request) && !isMembers(request):
					others = append(others, request)
				}
			}
			return len(leases) >= 6*fleetShards || len(others) > 0, "leases are not renewed"
		})
		return leases, others
	}
	for _, r := range f.replicas {
		// Events are written in the background; and a replica that was late to renew a lease acquires it again.
		testenv.Eventually(f.tb, func() (bool, string) {
			leases, others := while(r)
			if len(others) > 0 {
				return false, fmt.Sprintf("%s: want no requests at rest besides leases and watches, got\n%v", r.identity, others)
			}
			isRenewal := !slices.ContainsFunc(leases, func(request testenv.Request) bool { return request.Method != http.MethodPut })
			return isRenewal, fmt.Sprintf("%s: want leases to be renewed by one request each, got\n%v", r.identity, leases)
		})
	}
}

// TestAReplicaThatWasStopped stops a replica in the middle of a pass until another one has gone on.
func TestAReplicaThatWasStopped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		// beforeFence stops the pass while dependents are generated, otherwise while the request is on its way.
		beforeFence bool
	}{
		{"before it asks whether it may write, no write is sent", true},
		{"a write that is on its way carries the version that was observed, and is refused", false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 1)
			f.inlineLimit = 512 // so that the inventory is in chunks
			breakpoint := newBreakpoint()
			for i := range 2 {
				f.join(strconv.Itoa(i), func(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
					if test.beforeFence {
						breakpoint.pass(i)
					}
					return specObjects(ctx, namespace, name, parameters)
				})
			}
			t.Cleanup(breakpoint.open) // before the replicas are stopped
			f.declare(1)
			f.awaitContent(1)
			f.awaitShares(f.replicas...)
			halt := func(i int) func(request *http.Request) error {
				return func(request *http.Request) error {
					if !test.beforeFence && request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/configmaps/component-0-") {
						breakpoint.pass(i)
					}
					return nil
				}
			}
			for i, r := range f.replicas {
				r.forgetWrites()
				r.set(halt(i))
			}
			breakpoint.armed.Store(true)
			f.declare(2)
			index := <-breakpoint.caught
			victim, other := f.replicas[index], f.replicas[1-index]
			// Writes of the same pass that come only now are on their way, too.
			victim.set(func(request *http.Request) error { return errors.Join(halt(index)(request), failLeases(request)) })
			f.awaitShares(other)
			f.declare(3)
			f.awaitContent(3)
			breakpoint.open()
			f.awaitEnd(victim)
			sent := victim.forgetWrites()
			if (len(sent) > 0) == test.beforeFence {
				t.Errorf("unexpected writes: %v", sent)
			}
			for _, w := range sent {
				if w.status != http.StatusConflict {
					t.Errorf("want each write to be refused because of its version, got %v", w)
				}
			}
			f.awaitContent(3)
		})
	}
}

// breakpoint stops the first replica that comes by once it is armed, and no other.
type breakpoint struct {
	armed  atomic.Bool
	prey   atomic.Int64
	caught chan int
	opened chan struct{}
	open   func()
}

func newBreakpoint() *breakpoint {
	t := &breakpoint{caught: make(chan int, 1), opened: make(chan struct{})}
	t.prey.Store(-1)
	t.open = sync.OnceFunc(func() { close(t.opened) })
	return t
}

func (t *breakpoint) pass(replica int) {
	if !t.armed.Load() {
		return
	}
	if t.prey.CompareAndSwap(-1, int64(replica)) {
		t.caught <- replica
	}
	if t.prey.Load() == int64(replica) {
		<-t.opened
	}
}

// forgetWrites returns the writes so far.
func (r *replica) forgetWrites() []write {
	r.mu.Lock()
	defer r.mu.Unlock()
	writes := r.writes
	r.writes = nil
	return writes
}

// awaitEnd waits until no pass is under way.
func (f *fleet) awaitEnd(r *replica) {
	f.tb.Helper()
	testenv.Eventually(f.tb, func() (bool, string) {
		return r.reconciler.worker.turns.Passes() == 0, "a pass is still under way"
	})
}
