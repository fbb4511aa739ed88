// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/concurrent"
)

// defaultValidity is how long a lease lasts that is not renewed.
const defaultValidity = 15 * time.Second

// Lock acquires the lock of a release. It waits while another process has it, if the options allow that; after their
// timeout, the error is a LockedError. Lock takes over a lease that was not renewed for its duration, by our own clock
// since it was read. In a namespace that is being deleted, no Lease can be created: there the lock excludes no other
// process once the Lease is deleted.
func (s *Store) Lock(ctx context.Context, options LockOptions) (*Lock, error) {
	if err := ValidateName(options.Name); err != nil {
		return nil, err
	}
	if options.Namespace == "" || options.Holder == "" {
		return nil, fmt.Errorf("locking release %s/%s: namespace and holder are required", options.Namespace, options.Name)
	}
	options.validity = cmp.Or(options.validity, defaultValidity)
	if options.Started.IsZero() {
		options.Started = s.options.Clock.Now()
	}
	leases, err := coordinationclient.NewForConfigAndClient(s.options.Client.Config(), s.options.Client.HttpClient())
	if err != nil {
		return nil, fmt.Errorf("locking release %s/%s: %w", options.Namespace, options.Name, err)
	}
	l := &Lock{
		release:   options.Namespace + "/" + options.Name,
		options:   options,
		leases:    leases.Leases(options.Namespace),
		manager:   s.options.FieldOwner,
		now:       s.options.Clock.Now,
		identity:  string(uuid.NewUUID()),
		lost:      make(chan struct{}),
		requested: make(chan struct{}),
		hurry:     make(chan struct{}, 1),
		settled:   make(chan struct{}),
		stopped:   make(chan struct{}),
	}
	if err := l.acquire(ctx); err != nil {
		return nil, err
	}
	// The lock outlasts the context, because the operation must be ended under it.
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	if l.lease == nil {
		close(l.stopped)
		return l, nil
	}
	go l.renewals(renewing)
	return l, nil
}

// rival is a lease that another process has.
type rival struct {
	lease *coordinationv1.Lease
	// seen is when the lease was seen first as it was renewed last.
	seen time.Time
}

// acquire returns when the lock is held. The timeout limits the waiting for other processes, not our own requests,
// which have the limits of the connection: so the error always names the process that has the lock.
func (l *Lock) acquire(ctx context.Context) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if l.options.Timeout > 0 {
		waiting, cancel = context.WithTimeout(ctx, l.options.Timeout)
	}
	defer cancel()
	other := &rival{}
	for {
		held, err := l.try(ctx, other)
		switch {
		case err != nil:
			return fmt.Errorf("locking release %s: %w", l.release, err)
		case held:
			return nil
		case other.lease == nil:
			// It has just changed hands; reading it again shows its holder.
			continue
		case l.options.Timeout < 0:
			return l.lockedBy(other.lease)
		}
		if settled, err := l.ask(ctx, other); err != nil {
			return fmt.Errorf("locking release %s: %w", l.release, err)
		} else if !settled {
			continue
		}
		if err := l.await(waiting, other); err != nil && ctx.Err() == nil {
			return l.lockedBy(other.lease)
		} else if err != nil {
			return fmt.Errorf("locking release %s: %w", l.release, err)
		}
	}
}

// try acquires the lease if it does not exist, has no holder, or was not renewed in time.
func (l *Lock) try(ctx context.Context, other *rival) (held bool, err error) {
	// Usually there is none.
	created, err := l.create(ctx)
	terminating := apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	if created || err != nil && !terminating {
		return created, err
	}
	lease, err := l.leases.Get(ctx, prefix+l.options.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		// Where no other one can be created, there is none to be waited for.
		*other = rival{}
		return terminating, nil
	}
	if err != nil {
		return false, err
	}
	// It may be ours if the request has succeeded that was to acquire it, and that was reported to have failed.
	if !l.isOurs(lease) {
		l.note(other, lease)
		if holderOf(lease) != "" && concurrent.Elapsed(other.seen, l.now()) < l.validityOf(lease) {
			return false, nil
		}
	}
	held, err = l.take(ctx, lease)
	if !held {
		// Another process was faster.
		*other = rival{}
	}
	return held, err
}

// note records the lease as it was read. It reports whether the lease is in the hands of another process than before.
func (l *Lock) note(other *rival, lease *coordinationv1.Lease) (changedHands bool) {
	before := other.lease
	changedHands = before == nil || before.UID != lease.UID || before.Annotations[lockAnnotation] != lease.Annotations[lockAnnotation]
	if changedHands || !before.Spec.RenewTime.Equal(lease.Spec.RenewTime) {
		other.seen = l.now()
	}
	other.lease = lease
	if changedHands && holderOf(lease) != "" && l.options.Wait != nil && l.options.Timeout >= 0 {
		l.options.Wait(l.waiting(lease))
	}
	return changedHands
}

func (l *Lock) create(ctx context.Context) (held bool, err error) {
	sent := l.now()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: prefix + l.options.Name}}
	l.describe(lease, sent)
	created, err := l.leases.Create(ctx, lease, metav1.CreateOptions{FieldManager: l.manager})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.lease, l.renewed = created, sent
	return true, nil
}

// take takes over a lease if it has not changed since it was read.
func (l *Lock) take(ctx context.Context, lease *coordinationv1.Lease) (held bool, err error) {
	sent := l.now()
	next := lease.DeepCopy()
	l.describe(next, sent)
	written, err := l.leases.Update(ctx, next, metav1.UpdateOptions{FieldManager: l.manager})
	if apiserver.IsOutdated(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.lease, l.renewed = written, sent
	return true, nil
}

// await returns when it is worth another try: the lease was given back, has expired, or the next holder is to be asked
// to end; or nothing can be learnt by watching it. Its only error is that of the context.
func (l *Lock) await(ctx context.Context, other *rival) error {
	watcher, err := l.leases.Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, prefix+l.options.Name).String(),
		ResourceVersion: other.lease.ResourceVersion,
	})
	if err != nil {
		return l.rest(ctx)
	}
	defer watcher.Stop()
	for {
		timer := time.NewTimer(l.validityOf(other.lease) - concurrent.Elapsed(other.seen, l.now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
			return nil
		case event, open := <-watcher.ResultChan():
			timer.Stop()
			lease, isLease := event.Object.(*coordinationv1.Lease)
			switch {
			case !open, event.Type == watch.Error:
				// It may have been too long ago; another look tells. Servers close watches from time to time.
				return l.rest(ctx)
			case event.Type == watch.Deleted:
				return nil
			case isLease && event.Type != watch.Bookmark:
				changedHands := l.note(other, lease)
				if holderOf(lease) == "" || changedHands && l.options.CancelOlder {
					return nil
				}
			}
		}
	}
}

// rest keeps failures from becoming a busy loop.
func (l *Lock) rest(ctx context.Context) error {
	timer := time.NewTimer(l.pause())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
