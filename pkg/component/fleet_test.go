// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
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
	f := newFleet(t, 60)
	history := f.follow()
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
		left := len(b.reconciler.worker.memories.keys())
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
	a.cut()
	f.declare(7)
	e := f.join("e", specObjects)
	a.set(nil)
	f.declare(8)
	f.awaitContent(8)
	f.awaitShares(a, b, d, e)

	f.neverBackwards(history())
	for written, count := range f.accepted() {
		// What was written and could not be recorded any more is written again by the next one.
		if count > 2 {
			t.Errorf("%s was written %d times with the content %s", written.name, count, written.content)
		}
	}
}

// isQuietAtRest counts requests while the leases are renewed some more times.
func (f *fleet) isQuietAtRest() {
	f.tb.Helper()
	isLease := func(request testenv.Request) bool { return request.Resource == "leases" }
	isOther := func(request testenv.Request) bool { return !isLease(request) && !isNoise(request) }
	renewals := func(r *replica) {
		f.tb.Helper()
		r.requests.Reset()
		testenv.Eventually(f.tb, func() (bool, string) { return r.requests.Count(isLease) >= 3*fleetShards, "leases are not renewed" })
	}
	for _, r := range f.replicas {
		// Events are written in the background.
		testenv.Eventually(f.tb, func() (bool, string) {
			renewals(r)
			return r.requests.Count(isOther) == 0, r.requests.String()
		})
		renewals(r)
		if r.requests.Count(isOther) > 0 {
			f.tb.Errorf("%s: want no requests at rest besides leases and watches, got\n%s", r.identity, r.requests)
		}
		if reads := r.requests.Count(func(request testenv.Request) bool { return isLease(request) && request.Method != http.MethodPut }); reads > 0 {
			f.tb.Errorf("%s: want leases to be renewed by one request each, got\n%s", r.identity, r.requests)
		}
	}
}

func (f *fleet) neverBackwards(history map[string][]string) {
	f.tb.Helper()
	diff(f.tb, "dependents that were seen", 3*len(f.names), len(history))
	for name, contents := range history {
		numbers := make([]int, len(contents))
		for i, content := range contents {
			numbers[i], _ = strconv.Atoi(content)
		}
		if !slices.IsSorted(numbers) || numbers[len(numbers)-1] != 8 {
			f.tb.Errorf("%s: content went backwards: %v", name, contents)
		}
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
			stopped, goOn := make(chan struct{}), make(chan struct{})
			release := sync.OnceFunc(func() { close(goOn) })
			stop := sync.OnceFunc(func() { close(stopped); <-goOn })
			var armed [2]atomic.Bool
			for i := range armed {
				f.join(strconv.Itoa(i), func(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
					if armed[i].Load() {
						stop()
					}
					return specObjects(ctx, namespace, name, parameters)
				})
			}
			t.Cleanup(release) // before the replicas are stopped
			f.declare(1)
			f.awaitContent(1)
			f.awaitShares(f.replicas...)
			index := 0
			if f.replicas[1].holds(f.names[0]) {
				index = 1
			}
			victim, other := f.replicas[index], f.replicas[1-index]
			victim.forgetWrites()
			armed[index].Store(test.beforeFence)
			victim.set(func(request *http.Request) error {
				if !test.beforeFence && request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/configmaps/component-0-") {
					stop()
				}
				return nil
			})
			f.declare(2)
			testenv.Eventually(t, func() (bool, string) {
				select {
				case <-stopped:
					return true, ""
				default:
					return false, fmt.Sprintf("%s has not come to where it is to be stopped; it holds the component: %t", victim.identity, victim.holds(f.names[0]))
				}
			})
			victim.pause()
			f.awaitShares(other)
			f.declare(3)
			f.awaitContent(3)
			release()
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

// forgetWrites returns the writes so far.
func (r *replica) forgetWrites() []write {
	r.mu.Lock()
	defer r.mu.Unlock()
	writes := r.writes
	r.writes = nil
	return writes
}

// holds tells whether the replica may work on a component.
func (r *replica) holds(name string) bool {
	keeper := r.reconciler.worker.shards
	return keeper.Holds(keeper.Of(r.namespace, name))
}

// awaitEnd waits until no pass is under way.
func (f *fleet) awaitEnd(r *replica) {
	f.tb.Helper()
	testenv.Eventually(f.tb, func() (bool, string) {
		passes := &r.reconciler.worker.passes
		passes.mu.Lock()
		defer passes.mu.Unlock()
		return len(passes.active) == 0, "a pass is still under way"
	})
}
