// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestFenceFollowsTheClock has renewals fail.
func TestFenceFollowsTheClock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		pass   time.Duration
		want   string
	}{
		{"just acquired", 0, ""},
		{"as long as others certainly do not take it", 10*time.Second - 1, ""},
		{"before others may take it", 10 * time.Second, "was last renewed 10s ago, and is trusted for 10s"},
		{"the clock was set back: that is no time", -time.Hour, ""},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			clock := clocktesting.NewFakePassiveClock(time.Now())
			store := NewStore(w.client)
			store.now = clock.Now
			lock := w.lock(store, w.lockOptions("first@host/1"))
			clock.SetTime(clock.Now().Add(test.pass))
			patience, end := context.WithCancel(t.Context())
			end()
			err := lock.Fence(patience)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q, got %v", test.want, err)
			}
		})
	}
}

// TestReleaseLeavesTheLeaseOfARival has another process take the lease between two renewals, so that the holder does
// not know.
func TestReleaseLeavesTheLeaseOfARival(t *testing.T) {
	t.Parallel()
	for reason, take := range map[string]func(w *world, lease *coordinationv1.Lease) error{
		"the lease is taken over": func(w *world, lease *coordinationv1.Lease) error {
			lease.Spec.HolderIdentity, lease.Annotations[lockAnnotation] = new("rival@host/3"), "rival"
			return w.client.Update(w.Context(), lease)
		},
		"the lease is another one": func(w *world, lease *coordinationv1.Lease) error {
			w.must(w.client.Delete(w.Context(), lease.DeepCopy()))
			lease.ObjectMeta = metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name, Annotations: map[string]string{lockAnnotation: "rival"}}
			lease.Spec.HolderIdentity = new("rival@host/3")
			return w.client.Create(w.Context(), lease)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			options := w.lockOptions("first@host/1")
			options.validity = time.Hour // so that no renewal comes in between
			lock, err := w.store.Lock(t.Context(), options)
			w.must(err)
			lease := w.lease()
			w.must(take(w, lease))
			w.must(lock.Fence(t.Context()))
			w.must(lock.Release(t.Context()))
			if version := w.leaseVersion(); version != lease.ResourceVersion {
				t.Errorf("want the lease of the rival to stay as it is (%s), got %q", lease.ResourceVersion, version)
			}
		})
	}
}

// TestLockOutlastsAPause has the server answer nothing for longer than a lease lasts.
func TestLockOutlastsAPause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		// happens while nothing is answered.
		happens func(w *world)
		lost    bool
	}{
		{"nobody takes the lease, so that it is renewed and relied upon again", func(*world) {}, false},
		{"a rival takes the lease that has expired", func(w *world) {
			options := w.lockOptions("rival@host/2")
			w.lock(w.store, options)
		}, true},
		{"a rival takes the lease, and gives it back", func(w *world) {
			lock, err := w.store.Lock(w.Context(), w.lockOptions("rival@host/2"))
			w.must(err)
			w.must(lock.Release(w.Context()))
		}, true},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			clnt, left := dying(t, 1<<30)
			options := w.lockOptions("first@host/1")
			options.validity = 3 * time.Second
			doubts := make(chan error, 1)
			options.Doubt = func(err error) { doubts <- err }
			lock, err := NewStore(clnt).Lock(t.Context(), options)
			w.must(err)
			left.Store(-1)
			testenv.Eventually(t, func() (bool, string) {
				lock.mu.Lock()
				defer lock.mu.Unlock()
				return concurrent.Elapsed(lock.renewed, time.Now()) >= options.validity, "the lease has not expired"
			})
			fenced := make(chan error, 1)
			go func() { fenced <- lock.Fence(t.Context()) }()
			if doubt := testenv.Receive(t, doubts, "the lock is in doubt"); !strings.Contains(doubt.Error(), "the process died") {
				t.Errorf("want to be told why the lock is not relied upon, got %v", doubt)
			}
			test.happens(w)
			version := w.leaseVersion()
			select {
			case err := <-fenced:
				t.Fatalf("want the fence to be closed until the lease is renewed, got %v", err)
			case <-lock.Lost():
				t.Fatal("want the lock to be held as long as nothing is known")
			default:
			}
			left.Store(1 << 30)
			err = testenv.Receive(t, fenced, "the fence says whether the lock is held")
			switch {
			case test.lost && !errors.Is(err, ErrLockLost):
				t.Errorf("want the lock to be lost, got %v", err)
			case test.lost:
				testenv.Receive(t, lock.Lost(), "the lock is lost")
			case err != nil:
				t.Errorf("want the lock to be held, got %v", err)
			case w.leaseVersion() == version:
				t.Error("want the fence to open when the lease has been renewed, and not before")
			}
			w.must(lock.Release(t.Context()))
		})
	}
}

// leaseVersion is the version of the lease, empty if there is none.
func (w *world) leaseVersion() string {
	w.Helper()
	lease := &coordinationv1.Lease{}
	err := w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "clm.demo"}, lease)
	w.must(client.IgnoreNotFound(err))
	return lease.ResourceVersion
}
