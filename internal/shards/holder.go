// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/component-operator/runtime/internal/concurrent"
)

// lock is the lease of a shard. It records when successful renewals were sent, and limits the duration of requests.
type lock struct {
	*resourcelock.LeaseLock
	tenure  *Tenure
	timeout time.Duration
}

var _ resourcelock.Interface = &lock{}

func (k *Keeper) newLock(shard int, tenure *Tenure) *lock {
	return &lock{
		tenure:  tenure,
		timeout: k.options.RenewDeadline,
		LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: k.options.Namespace, Name: LeaseName(k.options.Name, shard)},
			Client:     k.options.Client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: k.options.Identity},
			Labels:     map[string]string{k.options.label(): roleShard},
		},
	}
}

// LeaseName returns the name of the lease of a shard.
func LeaseName(name string, shard int) string {
	return name + "-shard-" + strconv.Itoa(shard)
}

// Get reads the lease. It bounds the duration, which the holder has chosen, to LongestLease, and the number of
// transitions, so that it can grow: otherwise, a single forged write would block the shard for 68 years.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	record, raw, err := l.LeaseLock.Get(ctx)
	if record != nil {
		record.LeaseDurationSeconds = min(record.LeaseDurationSeconds, int(LongestLease/time.Second))
		record.LeaderTransitions = min(record.LeaderTransitions, math.MaxInt32-1)
	}
	return record, raw, err
}

// Create acquires a lease that does not exist yet.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.LeaseLock.Create)
}

// Update acquires or renews the lease.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.LeaseLock.Update)
}

func (l *lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	// Other replicas count from their observation of the renewal, which is later.
	sent := l.tenure.now()
	err := send(ctx, record)
	if err == nil {
		l.tenure.renew(sent)
	}
	return err
}

// hold acquires the shard, and again after each loss, until the context ends.
func (k *Keeper) hold(ctx context.Context, shard int) {
	for ctx.Err() == nil {
		if err := k.serve(ctx, shard); err != nil {
			// The options are invalid; retrying is useless.
			k.options.Log.Error(err, "shard cannot be acquired", "shard", shard)
			<-ctx.Done()
		}
	}
}

// serve acquires the shard and holds it until it is lost or the context ends.
func (k *Keeper) serve(ctx context.Context, shard int) error {
	tenure := newTenure(shard, k.options.RenewDeadline, time.Now)
	defer tenure.finish()
	lease := k.newLock(shard, tenure)
	started := make(chan struct{})
	election := leaderelection.LeaderElectionConfig{
		Lock: lease, Name: LeaseName(k.options.Name, shard),
		LeaseDuration: k.options.LeaseDuration, RenewDeadline: k.options.RenewDeadline, RetryPeriod: k.options.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(started) },
			OnStoppedLeading: func() {},
		},
	}
	elector, err := leaderelection.NewLeaderElector(election)
	if err != nil {
		return err
	}
	// The lease must be renewed until all work has ended, which may be after the context.
	electing, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), k.options.Log.V(1)))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		elector.Run(electing)
	}()
	select {
	case <-started:
		k.work(ctx, tenure, stopped)
	case <-ctx.Done():
	case <-stopped:
	}
	tenure.finish()
	stop()
	<-stopped
	if tenure.began() {
		// If it is stopped, an elector leaves its metric as it is. A new one resets it.
		if _, err := leaderelection.NewLeaderElector(election); err != nil {
			return err
		}
		k.release(context.WithoutCancel(ctx), lease)
	}
	return nil
}

// work permits work on the shard until the end of the context or the loss of the lease, and returns when all work has
// ended. Work that does not end in time loses its tenure, so that its next check fails.
func (k *Keeper) work(ctx context.Context, tenure *Tenure, lost <-chan struct{}) {
	k.options.Log.Info("shard acquired", "shard", tenure.shard)
	k.tenures.Store(tenure.shard, tenure)
	k.options.Acquired(tenure.shard)
	patience := k.options.LeaseDuration
	select {
	case <-ctx.Done():
	case <-lost:
		patience = 0
	}
	k.tenures.Delete(tenure.shard)
	idle := tenure.close()
	if !within(patience, idle, lost) {
		tenure.finish()
		if !within(k.options.LeaseDuration, idle, nil) {
			k.options.Log.Info("shard given up while work on it is still running", "shard", tenure.shard)
		}
	}
	k.options.Lost(tenure.shard)
	k.options.Log.Info("shard given up", "shard", tenure.shard)
}

// within reports whether the first channel is closed before the time is over and before the second channel is closed.
func within(patience time.Duration, awaited, lost <-chan struct{}) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-awaited:
		return true
	case <-lost:
	case <-timer.C:
	}
	return false
}

// maxReleases is the maximum number of attempts to release a lease: one may conflict with a renewal that was under way.
const maxReleases = 3

// release gives up the lease, so that the next holder does not have to wait until it expires. If release fails, the
// lease expires.
func (k *Keeper) release(ctx context.Context, lease *lock) {
	for range maxReleases {
		record, _, err := lease.Get(ctx)
		if err != nil || record.HolderIdentity != k.options.Identity {
			return
		}
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1
		if err := lease.Update(ctx, *record); !apierrors.IsConflict(err) {
			return
		}
	}
}

// ErrOver is the cause that ends contexts of work, and the error of [Tenure.Check], when this replica no longer holds
// the shard.
var ErrOver = errors.New("this replica no longer holds the shard")

// Tenure is the time during which a replica holds a shard without interruption. It is safe for concurrent use. Check
// never fails for a nil Tenure, which is for work that is not divided into shards.
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

// Context returns a context that ends with the tenure. It must be canceled when the work is done.
func (t *Tenure) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(t.ended, func() { cancel(ErrOver) })
	return ctx, func() { stop(); cancel(nil) }
}

// Leave ends the work that [Keeper.Enter] began.
func (t *Tenure) Leave() {
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

// close keeps further work from beginning. The returned channel is closed when all work has ended.
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
