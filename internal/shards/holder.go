// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// lock is the lease of a shard. It notes when requests were sent that have renewed it, and lets no request last forever.
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

// LeaseName is the name of the lease of a shard.
func LeaseName(name string, shard int) string {
	return name + "-shard-" + strconv.Itoa(shard)
}

// Get reads the lease.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return l.LeaseLock.Get(ctx)
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
	// Others count from when they have seen the renewal, which is later than this.
	sent := l.tenure.now()
	err := send(ctx, record)
	if err == nil {
		l.tenure.renew(sent)
	}
	return err
}

// hold acquires the shard, again if it is lost, until the context ends.
func (k *Keeper) hold(ctx context.Context, shard int) {
	for ctx.Err() == nil {
		if err := k.serve(ctx, shard); err != nil {
			// The options do not allow it, which no repetition changes.
			k.options.Log.Error(err, "the shard cannot be held", "shard", shard)
			<-ctx.Done()
		}
	}
}

// serve acquires the shard and holds it until it is lost or the context ends.
func (k *Keeper) serve(ctx context.Context, shard int) error {
	tenure := newTenure(shard, k.options.RenewDeadline, k.options.now)
	defer tenure.finish()
	lease := k.newLock(shard, tenure)
	started := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lease, Name: LeaseName(k.options.Name, shard),
		LeaseDuration: k.options.LeaseDuration, RenewDeadline: k.options.RenewDeadline, RetryPeriod: k.options.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(started) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	// The lease is renewed until everything has ended, hence longer than the context lasts.
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
		k.release(context.WithoutCancel(ctx), lease)
	}
	return nil
}

// work lets work begin, and returns when all of it has ended: after the context has, or after the lease was lost. What does
// not end in time is cut off; its next check fails.
func (k *Keeper) work(ctx context.Context, tenure *Tenure, lost <-chan struct{}) {
	k.options.Log.Info("shard acquired", "shard", tenure.shard)
	k.publish(tenure)
	k.options.Acquired(tenure.shard)
	patience := k.options.LeaseDuration
	select {
	case <-ctx.Done():
	case <-lost:
		patience = 0
	}
	k.withdraw(tenure)
	idle := tenure.close()
	if !within(patience, idle, lost) {
		tenure.finish()
		if !within(k.options.LeaseDuration, idle, nil) {
			k.options.Log.Info("the shard is given up although something still runs", "shard", tenure.shard)
		}
	}
	k.options.Lost(tenure.shard)
	k.options.Log.Info("shard given up", "shard", tenure.shard)
}

// within waits for the first channel, but neither longer than the time nor than for the second one.
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

// maxReleases bounds how often the release of a lease is repeated: once for a renewal that was under way, and once more.
const maxReleases = 3

// release says that nobody holds the lease, so that the next one need not wait until it has expired. If it fails, that is all
// that happens.
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
