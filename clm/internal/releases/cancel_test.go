// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/component-operator/runtime/internal/testenv"
)

// began is when the processes of these tests were started, in seconds after the first one.
func began(second int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, second, 500, time.UTC)
}

// applying are the options of a process that applies, and that may be canceled. It renews its lease every second.
func (w *world) applying(holder string, second int) LockOptions {
	options := w.lockOptions(holder)
	options.Operation, options.Cancelable, options.Started = "apply", true, began(second)
	options.validity = 3 * time.Second
	return options
}

// waiter is a process that waits for the lock.
type waiter struct {
	told     chan [2]string
	acquired chan *Lock
}

// wait starts to wait for the lock.
func (w *world) wait(options LockOptions) waiter {
	w.Helper()
	result := waiter{told: make(chan [2]string, 10), acquired: make(chan *Lock, 1)}
	options.Wait = func(holder Holder, request string) { result.told <- [2]string{holder.Name, request} }
	go func() {
		lock, err := w.store.Lock(w.Context(), options)
		if err != nil {
			w.Error(err)
			close(result.acquired)
			return
		}
		w.Cleanup(func() { w.must(lock.Release(context.WithoutCancel(w.Context()))) })
		result.acquired <- lock
	}()
	return result
}

// hears has the older process learn that it is asked to end: it renews its lease, which nothing else does, when the
// newer process watches it. The requests of the newer one are those that are counted.
func (w *world) hears(older *Lock) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		asked := w.lease().Annotations[cancelAnnotation] != ""
		return asked, "the holder is not asked yet"
	})
	if err := older.renew(w.Context()); err == nil || errors.Is(err, errTaken) {
		w.Errorf("want the lease to have changed because of the request, got %v", err)
	}
	testenv.Receive(w, older.Requested(), "the older process is asked to end")
}

func isCanceled(l *Lock) bool {
	select {
	case <-l.Requested():
		return true
	default:
		return false
	}
}

// TestCancelOlder has a newer process ask the holder of the lock to end.
func TestCancelOlder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	options := w.applying("older@host/1", 1)
	options.validity = time.Hour // so that no renewal comes in between
	older := w.lock(w.store, options)
	if isCanceled(older) || older.RequestedBy() != "" {
		t.Error("want nobody to have asked yet")
	}
	options = w.applying("newer@host/2", 2)
	options.CancelOlder = true
	newer := w.wait(options)
	if got := testenv.Receive(t, newer.told, "the newer process waits"); got != [2]string{"older@host/1", "its apply is asked to end"} {
		t.Errorf("got %+v", got)
	}
	w.hears(older)
	if by := older.RequestedBy(); by != "apply of newer@host/2" {
		t.Errorf("got %q", by)
	}
	// The holder still has the lock, and renews it.
	w.must(older.renew(t.Context()))
	w.must(older.Fence(t.Context()))
	select {
	case <-older.Lost():
		t.Error("want the lock to be held")
	case <-newer.acquired:
		t.Error("want the newer process to wait until the lock is given back")
	default:
	}
	w.must(older.Release(t.Context()))
	next := testenv.Receive(t, newer.acquired, "the newer process has the lock")
	w.must(next.renew(t.Context()))
	if isCanceled(next) {
		t.Error("want the request to concern nobody but the older process")
	}
}

// TestThoseWhoAreNotCanceled have the lock while a newer process would like them to end.
func TestThoseWhoAreNotCanceled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		holder func(options *LockOptions)
		want   string
	}{
		{
			reason: "it does what nobody would do instead",
			holder: func(options *LockOptions) { options.Operation, options.Cancelable = "delete", false },
			want:   "its operation (delete) is not canceled",
		}, {
			reason: "it was started later",
			holder: func(options *LockOptions) { options.Started = began(5) },
			want:   "its operation (apply) is not canceled, because it was started later than this one",
		}, {
			reason: "it was started at the same time, so that each would cancel the other one",
			holder: func(options *LockOptions) { options.Started = began(2) },
			want:   "its operation (apply) is not canceled, because it was started later than this one",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			options := w.applying("older@host/1", 1)
			options.validity = time.Hour // so that no renewal comes in between
			test.holder(&options)
			lock, err := w.store.Lock(t.Context(), options)
			w.must(err)
			version := w.leaseVersion()
			var told []string
			newer := w.applying("newer@host/2", 2)
			newer.CancelOlder, newer.Timeout = true, time.Second
			newer.Wait = func(_ Holder, request string) { told = append(told, request) }
			var locked *LockedError
			if _, err := w.store.Lock(t.Context(), newer); !errors.As(err, &locked) {
				t.Errorf("want it to wait as long as without the option, got %v", err)
			}
			if len(told) != 1 || told[0] != test.want {
				t.Errorf("want %q, got %q", test.want, told)
			}
			if after := w.leaseVersion(); after != version {
				t.Error("want the lease to stay as it is")
			}
			w.must(lock.Release(t.Context()))
		})
	}
}

// begin records that the holder of the lock has begun, as an apply does that adds a revision.
func (w *world) begin(l *Lock) {
	w.Helper()
	release := w.get("web")
	release.Begun = Begun{By: "apply of " + l.options.Holder, Started: l.options.Started}
	w.must(w.store.AddRevision(w.Context(), release, Revision{Description: l.options.Holder}, content(1, l.options.Holder)))
}

// TestTheNewestRemains has two newer processes wait at the same time, in both orders. Whichever of them gets the lock
// first, the newest one is the last that begins.
func TestTheNewestRemains(t *testing.T) {
	t.Parallel()
	for reason, order := range map[string][]int{"the newer one comes first": {3, 2}, "the newer one comes last": {2, 3}} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("web")
			oldest := w.lock(w.store, w.applying("oldest@host/1", 1))
			w.begin(oldest)
			waiters := map[int]waiter{}
			for _, second := range order {
				options := w.applying(map[int]string{2: "newer@host/2", 3: "newest@host/3"}[second], second)
				options.CancelOlder = true
				if second == 3 {
					options.validity = time.Hour // so that no renewal comes between those of the test
				}
				waiters[second] = w.wait(options)
				testenv.Receive(t, waiters[second].told, "it waits")
			}
			testenv.Receive(t, oldest.Requested(), "the oldest process is asked to end")
			w.must(oldest.Release(t.Context()))
			var newest *Lock
			waits := false
			select {
			case newest = <-waiters[3].acquired:
				waits = true
			case newer := <-waiters[2].acquired:
				// It begins, and makes way.
				if by := w.get("web").Begun.Overtaken(newer.options.Started, began(9)); by != "" {
					t.Errorf("want it to begin, which was started later than what has begun, got %q", by)
				}
				w.begin(newer)
				testenv.Receive(t, newer.Requested(), "it is asked to end by the newest one")
				if by := newer.RequestedBy(); by != "apply of newest@host/3" {
					t.Errorf("got %q", by)
				}
				w.must(newer.Release(t.Context()))
				newest = testenv.Receive(t, waiters[3].acquired, "the newest process has the lock")
			}
			if by := w.get("web").Begun.Overtaken(newest.options.Started, began(9)); by != "" {
				t.Errorf("want the newest process to begin, got %q", by)
			}
			w.begin(newest)
			w.must(newest.renew(t.Context()))
			w.must(newest.renew(t.Context()))
			if isCanceled(newest) {
				t.Errorf("want nobody to cancel the newest process, got %q", newest.RequestedBy())
			}
			w.must(newest.Release(t.Context()))
			if waits {
				newer := testenv.Receive(t, waiters[2].acquired, "the process in between has the lock in the end")
				if by := w.get("web").Begun.Overtaken(newer.options.Started, began(9)); by != "apply of newest@host/3" {
					t.Errorf("want it not to begin, because the newest one has, got %q", by)
				}
			}
			if current := w.get("web").Current(); current.Description != "newest@host/3" {
				t.Errorf("want the revision of the newest process to remain, got that of %q", current.Description)
			}
		})
	}
}

// TestOvertaken compares the starts of two processes.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	begun := Begun{By: "apply of other@host/1", Started: began(5)}
	for _, test := range []struct {
		reason       string
		begun        Begun
		started, now time.Time
		want         string
	}{
		{"the other one was started later", begun, began(4), began(9), "apply of other@host/1"},
		{"the other one was started earlier", begun, began(6), began(9), ""},
		{"it is the same process", begun, began(5), began(9), ""},
		{"nothing is known", Begun{}, began(4), began(9), ""},
		{"the clock of the other one is a little ahead", begun, began(3), began(4), "apply of other@host/1"},
		{"the clock of the other one is wrong", begun, began(3), began(5).Add(-6 * time.Minute), ""},
		{"others have written a long text", Begun{By: strings.Repeat("x", 1000), Started: began(5)}, began(4), began(9), strings.Repeat("x", maxRequester-3) + "…"},
	} {
		if got := test.begun.Overtaken(test.started, test.now); got != test.want {
			t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
		}
	}
}
