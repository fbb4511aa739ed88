// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/component-operator/runtime/internal/concurrent"
)

// ErrOver is the cause that ends contexts of work, and the error of [Tenure.Check], when this replica no longer holds
// the shard.
var ErrOver = errors.New("this replica no longer holds the shard")

// Tenure is the time during which a replica holds a shard without interruption. It is safe for concurrent use. A nil
// Tenure is for work that is not divided into shards: it never ends.
type Tenure struct {
	shard int
	// validity is how long the lease is trusted after a renewal was sent.
	validity time.Duration
	now      func() time.Time
	// ended is the context of all work.
	ended context.Context //nolint:containedctx // the lifetime of the tenure
	end   context.CancelFunc

	mu      sync.Mutex
	renewed time.Time
	closing bool
	over    bool
	running int
	// idle is closed when no work is running, and none can begin.
	idle chan struct{}
}

func newTenure(shard int, validity time.Duration, now func() time.Time) *Tenure {
	t := &Tenure{shard: shard, validity: validity, now: now, idle: make(chan struct{})}
	t.ended, t.end = context.WithCancel(context.Background())
	return t
}

// Check fails unless the lease was certainly valid when Check was called.
func (t *Tenure) Check() error {
	if t == nil {
		return nil
	}
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return fmt.Errorf("shard %d: %w", t.shard, ErrOver)
	}
	if age := concurrent.Elapsed(t.renewed, now); age >= t.validity {
		return fmt.Errorf("shard %d: the lease was last renewed %s ago, and is trusted for %s only", t.shard, age, t.validity)
	}
	return nil
}

// Context returns a context that ends with the tenure. It must be cancelled when the work is done.
func (t *Tenure) Context(parent context.Context) (context.Context, context.CancelFunc) {
	if t == nil {
		return parent, func() {}
	}
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(t.ended, func() { cancel(ErrOver) })
	return ctx, func() { stop(); cancel(nil) }
}

// Leave ends what [Keeper.Enter] began.
func (t *Tenure) Leave() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	t.settleLocked()
}

// enter reports whether work may begin, and counts it.
func (t *Tenure) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return false
	}
	t.running++
	return true
}

// close lets no more work begin. The returned channel is closed when all work has ended.
func (t *Tenure) close() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closing {
		t.closing = true
		t.settleLocked()
	}
	return t.idle
}

func (t *Tenure) settleLocked() {
	if t.closing && t.running == 0 {
		close(t.idle)
	}
}

// finish ends the contexts of work, and makes all further checks fail.
func (t *Tenure) finish() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.end()
}

// renew records when the renewal of the lease was sent.
func (t *Tenure) renew(sent time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = sent
}

// began reports whether the lease was ever acquired.
func (t *Tenure) began() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.renewed.IsZero()
}
