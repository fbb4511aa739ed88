// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clocks"
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
			lock := w.lock(NewStore(Options{Client: w.client, Clock: clock}), w.lockOptions("first@host/1"))
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

func TestLockIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		// happens to the lease.
		happens func(w *world)
		want    string
	}{
		{
			reason: "somebody takes the lease away",
			happens: func(w *world) {
				// A renewal may come in between.
				testenv.Eventually(w, func() (bool, string) {
					lease := w.lease()
					lease.Spec.HolderIdentity, lease.Annotations = new("thief@host/3"), nil
					err := w.client.Update(w.Context(), lease)
					return err == nil, fmt.Sprint(err)
				})
			},
			want: "another process has taken or removed it",
		}, {
			reason:  "somebody removes the lease",
			happens: func(w *world) { w.must(w.client.Delete(w.Context(), w.lease())) },
			want:    "another process has taken or removed it",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			options := w.lockOptions("first@host/1")
			options.validity = 3 * time.Second
			lock, err := w.store.Lock(t.Context(), options)
			w.must(err)
			test.happens(w)
			<-lock.Lost()
			var lost *LostLockError
			if err := lock.Fence(t.Context()); !errors.As(err, &lost) || !strings.Contains(err.Error(), "is lost") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q, got %v", test.want, err)
			}
			before := w.leaseVersion()
			w.must(lock.Release(t.Context()))
			if after := w.leaseVersion(); after != before {
				t.Errorf("want what others have made of the lease to stay, got %s instead of %s", after, before)
			}
		})
	}
}

// TestReleaseLeavesTheLeaseOfARival has another process take the lease between two renewals, so that the holder does not know.
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
			lock, err := NewStore(Options{Client: clnt}).Lock(t.Context(), options)
			w.must(err)
			left.Store(-1)
			testenv.Eventually(t, func() (bool, string) {
				lock.mu.Lock()
				defer lock.mu.Unlock()
				return clocks.Elapsed(lock.renewed, time.Now()) >= options.validity, "the lease has not expired"
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
			var lost *LostLockError
			switch {
			case test.lost && !errors.As(err, &lost):
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

// TestFenceEndsWithItsContext while the server does not answer.
func TestFenceEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clnt, left := dying(t, 1<<30)
	options := w.lockOptions("first@host/1")
	options.validity = time.Second
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the timeout has expired")
	options.Doubt = func(error) { cancel(over) }
	lock, err := NewStore(Options{Client: clnt}).Lock(t.Context(), options)
	w.must(err)
	left.Store(-1)
	testenv.Eventually(t, func() (bool, string) { err = lock.Fence(ctx); return err != nil, "it is still relied upon" })
	if !errors.Is(err, over) {
		t.Errorf("want the cause to be told, got %v", err)
	}
	left.Store(1 << 30)
	w.must(lock.Fence(t.Context()))
	w.must(lock.Release(t.Context()))
}

// TestLockOutlivesItsNamespace deletes the namespace, and with it the lease, while the record is held by its finalizer.
func TestLockOutlivesItsNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createHooked()
	options := w.lockOptions("first@host/1")
	options.validity = 3 * time.Second
	lock := w.lock(w.store, options)
	w.must(w.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
	// There is nothing to be renewed any more.
	<-lock.stopped
	w.must(lock.Fence(t.Context()))
	select {
	case <-lock.Lost():
		t.Error("want the lock to be held on, since nobody else can acquire it")
	default:
	}
	w.must(lock.Release(t.Context()))
}

// TestLocksWhileTheNamespaceGoes has a lease remain in a namespace that is being deleted.
func TestLocksWhileTheNamespaceGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	options := w.lockOptions("first@host/1")
	options.validity = 3 * time.Second
	lock := w.lock(w.store, options)
	w.finalizeLease(`["example.com/hold"]`)
	w.Cleanup(func() { w.finalizeLease("null") })
	w.must(w.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))

	other := w.lockOptions("second@host/2")
	other.Timeout = -1
	var locked *LockedError
	if _, err := w.store.Lock(t.Context(), other); !errors.As(err, &locked) {
		t.Errorf("want the lease to exclude others as long as it exists, got %v", err)
	}

	testenv.Eventually(t, func() (bool, string) {
		lease := w.lease()
		lease.Annotations[lockAnnotation] = "another one"
		err := w.client.Update(t.Context(), lease)
		return err == nil, fmt.Sprint(err)
	})
	select {
	case <-lock.Lost():
	case <-lock.stopped:
		if err := lock.Fence(t.Context()); err == nil {
			t.Error("want the lock to be lost that others have taken")
		}
	}
}

// finalizeLease sets the finalizers of the lease.
func (w *world) finalizeLease(list string) {
	w.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "clm.demo"}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`))
	w.must(w.client.Patch(context.WithoutCancel(w.Context()), lease, patch))
}

// leaseVersion is the version of the lease, empty if there is none.
func (w *world) leaseVersion() string {
	w.Helper()
	lease := &coordinationv1.Lease{}
	err := w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "clm.demo"}, lease)
	w.must(client.IgnoreNotFound(err))
	return lease.ResourceVersion
}

// TestRenewalThatSeemedToFail is followed by a conflict, which is no loss; and by the release.
func TestRenewalThatSeemedToFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lock := w.lock(w.store, w.lockOptions("first@host/1"))
	touch := func() {
		lease := w.lease()
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		w.must(w.client.Update(t.Context(), lease))
	}
	touch()
	if err := lock.renew(t.Context()); err == nil || errors.Is(err, errTaken) {
		t.Errorf("want another attempt, got %v", err)
	}
	w.must(lock.renew(t.Context()))
	touch()
	w.must(lock.Release(t.Context()))
	if version := w.leaseVersion(); version != "" {
		t.Errorf("want the lease to be gone")
	}
}

// TestAcquisitionThatSeemedToFail loses the response to the creation of the lease.
func TestAcquisitionThatSeemedToFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := testenv.Config(t)
	var posts atomic.Int64
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil && request.Method == http.MethodPost && posts.Add(1) == 1 {
				response.StatusCode = http.StatusInternalServerError
				response.Header.Set("Retry-After", "0")
			}
			return response, err
		})
	})
	lock := w.lock(NewStore(Options{Client: newClient(t, config)}), w.lockOptions("first@host/1"))
	w.must(lock.Fence(t.Context()))
	if posts.Load() != 2 {
		t.Errorf("want two attempts, got %d", posts.Load())
	}
}
