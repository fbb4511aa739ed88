// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/component-operator/runtime/internal/testenv"
)

func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var calls atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.store.Watch(ctx, w.namespace, "web", func() { calls.Add(1) }) }()
	called := func(before int32, reason string) {
		t.Helper()
		testenv.Eventually(t, func() (bool, string) { return calls.Load() > before, reason })
	}
	called(0, "it is called when the record is watched, although there is none")
	quiet := calls.Load()
	other := &Release{Namespace: w.namespace, Name: "other", State: StateApplying, Revisions: []Revision{{Number: 1, State: RevisionApplying}}}
	w.must(w.store.Create(t.Context(), other, Content{}))
	if got := calls.Load(); got != quiet {
		t.Errorf("it was called for the record of another release")
	}
	release := &Release{Namespace: w.namespace, Name: "web", State: StateApplying, Revisions: []Revision{{Number: 1, State: RevisionApplying}}}
	w.must(w.store.Create(t.Context(), release, Content{}))
	called(quiet, "the record was created")
	before := calls.Load()
	release.State = StateDeleting
	w.must(w.store.Save(t.Context(), release))
	called(before, "the record was written")
	before = calls.Load()
	w.must(w.store.Remove(t.Context(), release))
	called(before, "the record was removed")
	cancel()
	w.must(<-ended)
	if err := w.store.Watch(t.Context(), w.namespace, "Web", func() {}); err == nil {
		t.Error("no release can have that name")
	}
}

func TestHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder, err := w.store.Holder(t.Context(), w.namespace, "web")
	if err != nil || holder != nil {
		t.Errorf("nobody has the lock, got %v, %v", holder, err)
	}
	lock, err := w.store.Lock(t.Context(), LockOptions{Namespace: w.namespace, Name: "web", Holder: "jane"})
	w.must(err)
	holder, err = w.store.Holder(t.Context(), w.namespace, "web")
	w.must(err)
	if holder == nil || holder.Name != "jane" || holder.Validity != 15*time.Second || holder.Since.IsZero() || holder.Renewed.Before(holder.Since) {
		t.Errorf("got %+v", holder)
	}
	w.must(lock.Release(t.Context()))
	if _, err := w.store.Get(t.Context(), w.namespace, "web"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a lock makes no release, got %v", err)
	}
}
