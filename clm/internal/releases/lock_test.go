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
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lockOptions are for locks that last long, so that a slow machine loses none.
func (w *world) lockOptions(holder string) LockOptions {
	return LockOptions{Namespace: w.namespace, Name: "demo", Holder: holder, Timeout: time.Minute}
}

func (w *world) lock(store *Store, options LockOptions) *Lock {
	w.Helper()
	lock, err := store.Lock(w.Context(), options)
	w.must(err)
	w.Cleanup(func() { w.must(lock.Release(context.WithoutCancel(w.Context()))) })
	return lock
}

func (w *world) lease() *coordinationv1.Lease {
	w.Helper()
	lease := &coordinationv1.Lease{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "clm.demo"}, lease))
	return lease
}

func TestLockExcludes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.lock(w.store, w.lockOptions("first@host/1"))
	w.must(first.Fence(t.Context()))

	options := w.lockOptions("second@host/2")
	options.Timeout = time.Millisecond
	_, err := w.store.Lock(t.Context(), options)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder.Name != "first@host/1" || time.Since(locked.Holder.Since).Abs() > time.Minute {
		t.Fatalf("want to be told who has the lock, got %v", err)
	}
	if want := "release " + w.namespace + "/demo has been locked by first@host/1 for "; !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "expires 15s after it was last renewed") {
		t.Errorf("want %q, got %q", want, err)
	}
	w.must(first.Release(t.Context()))
	if err := first.Fence(t.Context()); err == nil || !strings.Contains(err.Error(), "was released") {
		t.Errorf("want the fence to be closed, got %v", err)
	}
	second := w.lock(w.store, w.lockOptions("second@host/2"))
	w.must(first.Release(t.Context()))
	w.must(second.Fence(t.Context()))
	if holder := *w.lease().Spec.HolderIdentity; holder != "second@host/2" {
		t.Errorf("got %s", holder)
	}
}

// TestLeaseOfTheLivingIsNotTakenOver waits for longer than the lease lasts, by the clock of the one who waits, while it
// is renewed.
func TestLeaseOfTheLivingIsNotTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other, l := &rival{}, w.lock(w.store, w.lockOptions("first@host/1"))
	clock := clocktesting.NewFakePassiveClock(time.Now())
	waiting := &Lock{
		options: LockOptions{Namespace: w.namespace, Name: "demo", Holder: "second@host/2", validity: defaultValidity}, leases: l.leases, now: clock.Now, identity: "second",
	}
	for step := range 5 {
		held, err := waiting.try(t.Context(), other)
		if held || err != nil {
			t.Fatalf("step %d: want the lease to be respected, got %t, %v", step, held, err)
		}
		clock.SetTime(clock.Now().Add(defaultValidity - time.Second))
		w.must(l.renew(t.Context()))
	}
	if held, err := waiting.try(t.Context(), other); held || err != nil {
		t.Fatalf("want the lease to be respected, got %t, %v", held, err)
	}
	clock.SetTime(clock.Now().Add(defaultValidity))
	if held, err := waiting.try(t.Context(), other); !held || err != nil {
		t.Fatalf("want the lease to be taken, which was not renewed, got %t, %v", held, err)
	}
	if err := l.renew(t.Context()); !errors.Is(err, errTaken) {
		t.Errorf("want the old holder to notice, got %v", err)
	}
}
