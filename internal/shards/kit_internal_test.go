// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/component-operator/runtime/internal/testenv"
)

// fleet is a set of replicas of which no two may hold the same shard at the same time.
type fleet struct {
	t         *testing.T
	namespace string

	mu       sync.Mutex
	replicas []*replica
}

type replica struct {
	*Keeper
	fleet *fleet
	stop  func()
	// cut makes all writes fail.
	cut atomic.Bool

	mu sync.Mutex
	// acquired are the tenures that have begun.
	acquired []any
}

// durations are those of leases: how long after the last renewal others may take them, how long replicas trust their
// own renewals, and the time between renewals.
type durations struct{ lease, renew, retry time.Duration }

var (
	// soon is for leases that expire in the course of a test.
	soon = durations{3 * time.Second, 2 * time.Second, 200 * time.Millisecond}
	// late is for leases that are given up only by the will of a replica, however slow the machine is.
	late = durations{15 * time.Second, 12 * time.Second, 200 * time.Millisecond}
)

func newFleet(t *testing.T) *fleet {
	t.Helper()
	return &fleet{t: t, namespace: testenv.Namespace(t)}
}

func (f *fleet) start(identity string, shards int) *replica {
	f.t.Helper()
	return f.startWith(identity, shards, soon)
}

func (f *fleet) startWith(identity string, shards int, times durations) *replica {
	f.t.Helper()
	config := testenv.Config(f.t)
	r := &replica{fleet: f}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return wire{replica: r, next: next} })
	r.Keeper = New(Options{
		Name: f.namespace + ".example.io", Namespace: f.namespace, Identity: identity, Shards: shards,
		LeaseDuration: times.lease, RenewDeadline: times.renew, RetryPeriod: times.retry,
		Client:   coordinationv1client.NewForConfigOrDie(config),
		Acquired: r.begins, Lost: func(int) {},
	})
	f.mu.Lock()
	f.replicas = append(f.replicas, r)
	f.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	f.t.Cleanup(r.stop)
	return r
}

// wire is the transport of a replica.
type wire struct {
	replica *replica
	next    http.RoundTripper
}

func (w wire) RoundTrip(request *http.Request) (*http.Response, error) {
	if w.replica.cut.Load() && request.Method != http.MethodGet {
		return nil, errors.New("cut off")
	}
	return w.next.RoundTrip(request)
}

// begins checks that no other replica relies on holding the shard.
func (r *replica) begins(shard int) {
	tenure, _ := r.tenures.Load(shard)
	r.mu.Lock()
	r.acquired = append(r.acquired, tenure)
	r.mu.Unlock()
	r.fleet.mu.Lock()
	others := slices.Clone(r.fleet.replicas)
	r.fleet.mu.Unlock()
	for _, other := range others {
		if other != r && other.relies(shard) {
			r.fleet.t.Errorf("%s has acquired shard %d, which %s holds", r.options.Identity, shard, other.options.Identity)
		}
	}
}

// relies reports whether the replica would write now.
func (r *replica) relies(shard int) bool {
	found, _ := r.tenures.Load(shard)
	tenure, held := found.(*Tenure)
	return held && tenure.Check() == nil
}

// begun returns how often the replica has acquired a shard. What it holds may be missing for a moment; missing is the
// number of such shards.
func (r *replica) begun() (count, missing int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, tenure := range r.tenures.Range {
		if !slices.Contains(r.acquired, tenure) {
			missing++
		}
	}
	return len(r.acquired), missing
}

func (r *replica) held() []int {
	var held []int
	for shard := range r.options.Shards {
		if r.Holds(shard) {
			held = append(held, shard)
		}
	}
	return held
}

// awaitShares waits until these replicas hold their shares if no other replica lives, and others hold nothing.
func (f *fleet) awaitShares(living ...*replica) {
	f.t.Helper()
	var members []string
	for _, r := range living {
		members = append(members, r.options.Identity)
	}
	want := assign(members, living[0].options.Shards)
	testenv.Eventually(f.t, func() (bool, string) {
		for shard, owner := range want {
			for _, r := range f.replicas {
				if holds := r.relies(shard); holds != (r.options.Identity == owner) {
					return false, fmt.Sprintf("shard %d should be held by %s; %s holds %v", shard, owner, r.options.Identity, r.held())
				}
			}
		}
		return true, ""
	})
}

// acquisitions returns how often these replicas have acquired shards, those included that they hold.
func (f *fleet) acquisitions(replicas ...*replica) (sum int) {
	f.t.Helper()
	testenv.Eventually(f.t, func() (bool, string) {
		sum = 0
		for _, r := range replicas {
			count, missing := r.begun()
			if missing > 0 {
				return false, fmt.Sprintf("%s holds %d shards and was not told so", r.options.Identity, missing)
			}
			sum += count
		}
		return true, ""
	})
	return sum
}
