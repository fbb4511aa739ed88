// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/texts"
)

const (
	// defaultValidity is how long a lease lasts without a renewal.
	defaultValidity = 15 * time.Second
	// lockAnnotation distinguishes the locks of the same holder.
	lockAnnotation = ReconcilerName + "/lock"
)

// LockOptions specify what to lock, and for whom.
type LockOptions struct {
	// Namespace and Name of the release, which need not exist. Required.
	Namespace, Name string
	// Holder names the process for people, for example "jane@laptop/4711". Required.
	Holder string
	// Timeout is how long to wait for other processes. If it is not positive, there is no limit.
	Timeout time.Duration
	// Wait is called if Lock must wait, and again when the holder changes. The request is what CancelOlder does about
	// the holder, or why it does nothing; empty without CancelOlder. Defaults to nothing.
	Wait func(holder Holder, request string)
	// Doubt is called when Fence has to wait because the lease could not be renewed in time, with the reason. It may be
	// called from several goroutines. Defaults to nothing.
	Doubt func(reason error)

	// Operation is the purpose of the lock in one word, such as "apply", for other processes. Defaults to nothing, as
	// in earlier versions of clm.
	Operation string
	// Started is when the process was started. It decides which of two processes is the newer one. Required.
	Started time.Time
	// Cancelable means that the process ends its operation when the channel Requested is closed.
	Cancelable bool
	// CancelOlder asks the holder of the lock to end its operation, if that is cancelable and its process was started
	// earlier, by the clocks of the two machines. Lock then waits until the lock is given back. Among several newer
	// processes, the one that gets the lock is asked in turn by those that were started later; if a newer process gets
	// it first, the older one finds out by [Begun.Overtaken]. So the last one remains. Two processes never ask each
	// other. A process that waits for the lock is not asked before it has the lock. If the holder cannot be asked, Lock
	// waits as without this option. A request cannot be withdrawn, even if Lock fails afterwards, for example because
	// of the timeout.
	CancelOlder bool

	// validity is how long a lease lasts without a renewal, in whole seconds. Only tests set it. Defaults to 15
	// seconds.
	validity time.Duration
}

// Holder is a process that has the lock of a release.
type Holder struct {
	// Name is the Holder of LockOptions.
	Name string
	// Since is when the lock was taken, Renewed when it was renewed last, both by the clock of the holder.
	Since, Renewed time.Time
	// Validity is how long the lock lasts without a renewal.
	Validity time.Duration
}

// holderOf returns the holder of a lease. Its name is empty if there is none.
func holderOf(lease *coordinationv1.Lease) Holder {
	spec := lease.Spec
	since := ptr.Deref(spec.AcquireTime, metav1.MicroTime(lease.CreationTimestamp)).Time
	return Holder{
		Name: ptr.Deref(spec.HolderIdentity, ""), Since: since, Renewed: cmp.Or(ptr.Deref(spec.RenewTime, metav1.MicroTime{}).Time, since),
		Validity: cmp.Or(max(0, time.Duration(ptr.Deref(spec.LeaseDurationSeconds, 0))*time.Second), defaultValidity),
	}
}

// LockedError means that another process has the lock.
type LockedError struct {
	// Release is namespace and name of the release.
	Release string
	// Holder is the process that has the lock.
	Holder Holder
	// Age is how long the holder has had it.
	Age time.Duration
}

// Error names the holder, how long it has had the lock, and when the lock of a dead process expires.
func (e *LockedError) Error() string {
	return fmt.Sprintf("release %s has been locked by %s for %s; if that process has died, the lock expires %s after it was last renewed",
		e.Release, e.Holder.Name, duration.HumanDuration(e.Age), e.Holder.Validity)
}

// Lock is the right to work on a release, which one process has at a time. It is a Lease with the name of the index of
// the release, which is renewed as long as the process lives. Its methods may be called from several goroutines.
//
// The lock is lost only when another process has taken or removed the lease. If the API server does not answer for
// longer than the lease lasts, it is uncertain who holds it: Fence waits until a renewal has succeeded, which proves
// that no other process has taken the lease in between, because each renewal is guarded by the resourceVersion of the
// one before.
//
// A lease is not enough: its holder may be paused between reading the clock and sending a request. So each write must
// also be guarded by the observed UID and resourceVersion.
type Lock struct {
	release  string
	options  LockOptions
	leases   coordinationclient.LeaseInterface
	now      func() time.Time
	identity string
	lost     chan struct{}
	// requested is closed when a newer process asks this one to end.
	requested chan struct{}
	// stop ends the renewals.
	stop     context.CancelFunc
	renewing sync.WaitGroup

	mu sync.Mutex
	// requestedBy is the newer process; empty as long as none has asked.
	requestedBy string
	// lease is the last written lease; nil if there is none because the namespace is being deleted.
	lease *coordinationv1.Lease
	// renewed is when the request of the last renewal was sent.
	renewed time.Time
	// failure is the error of the last attempt to renew the lease since then; nil if there was none.
	failure error
	// over is the reason why the lock has ended; nil if it has not.
	over error
}

// trustPeriod is how long the process relies on the lease after sending the request that renewed it. Other processes
// take it over only some time later.
func (l *Lock) trustPeriod() time.Duration { return l.options.validity * 2 / 3 }

// interval is the time between two renewals.
func (l *Lock) interval() time.Duration { return l.options.validity / 3 }

// pause is the time between two attempts.
func (l *Lock) pause() time.Duration { return min(l.options.validity/15, time.Second) }

// Lock acquires the lock of a release. It waits while another process has it; after the timeout of the options, the
// error is a LockedError. Lock takes over a lease that was not renewed for its duration, measured by our own clock
// since it was first read. In a namespace that is being deleted, no Lease can be created: there the lock excludes no
// other process once the Lease is deleted.
func (s *Store) Lock(ctx context.Context, options LockOptions) (*Lock, error) {
	if err := ValidateName(options.Name); err != nil {
		return nil, err
	}
	release := options.Namespace + "/" + options.Name
	options.validity = cmp.Or(options.validity, defaultValidity)
	leases, err := coordinationclient.NewForConfigAndClient(s.client.Config(), s.client.HttpClient())
	if err != nil {
		return nil, fmt.Errorf("locking release %s: %w", release, err)
	}
	l := &Lock{
		release:   release,
		options:   options,
		leases:    leases.Leases(options.Namespace),
		now:       s.now,
		identity:  string(uuid.NewUUID()),
		lost:      make(chan struct{}),
		requested: make(chan struct{}),
	}
	if err := l.acquire(ctx); err != nil {
		return nil, err
	}
	// The lock outlasts the context, because the operation must be ended under it.
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	if l.lease != nil {
		l.renewing.Go(func() { l.renewals(renewing) })
	}
	return l, nil
}

// rival is a lease that another process has.
type rival struct {
	lease *coordinationv1.Lease
	// seen is when the last renewal of the lease was first seen.
	seen time.Time
}

// acquire returns when the lock is held. The timeout limits the wait for other processes, not our own requests, which
// the connection limits. So the error of a timeout always names the process that has the lock.
func (l *Lock) acquire(ctx context.Context) error {
	var over <-chan time.Time
	if l.options.Timeout > 0 {
		over = time.After(l.options.Timeout)
	}
	other := &rival{}
	for {
		held, err := l.try(ctx, other)
		if err == nil && other.lease != nil {
			err = l.ask(ctx, other.lease)
		}
		switch {
		case err != nil:
			return fmt.Errorf("locking release %s: %w", l.release, err)
		case held:
			return nil
		case other.lease == nil:
			// It has just changed hands; reading it again shows its holder.
			continue
		}
		select {
		case <-time.After(l.pause()):
		case <-over:
			holder := holderOf(other.lease)
			return &LockedError{Release: l.release, Holder: holder, Age: max(0, l.now().Sub(holder.Since))}
		case <-ctx.Done():
			return fmt.Errorf("locking release %s: %w", l.release, ctx.Err())
		}
	}
}

// try acquires the lease if it does not exist, has no holder, or was not renewed in time. Otherwise the rival has it,
// unless it has just changed hands.
func (l *Lock) try(ctx context.Context, other *rival) (held bool, err error) {
	// Usually there is none.
	held, err = l.take(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: prefix + l.options.Name}})
	terminating := apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	if held || err != nil && !terminating {
		return held, err
	}
	lease, err := l.leases.Get(ctx, prefix+l.options.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		// If no Lease can be created, there is none to wait for.
		*other = rival{}
		return terminating, nil
	}
	if err != nil {
		return false, err
	}
	// It may be ours if our request succeeded although it was reported to have failed.
	if !l.isOurs(lease) {
		l.note(other, lease)
		if holder := holderOf(lease); holder.Name != "" && concurrent.Elapsed(other.seen, l.now()) < holder.Validity {
			return false, nil
		}
	}
	*other = rival{}
	return l.take(ctx, lease)
}

// note stores the lease as it was read, and calls Wait if the lease has a new holder.
func (l *Lock) note(other *rival, lease *coordinationv1.Lease) {
	before := other.lease
	changedHands := before == nil || before.UID != lease.UID || before.Annotations[lockAnnotation] != lease.Annotations[lockAnnotation]
	if changedHands || !before.Spec.RenewTime.Equal(lease.Spec.RenewTime) {
		other.seen = l.now()
	}
	other.lease = lease
	if holder := holderOf(lease); changedHands && holder.Name != "" && l.options.Wait != nil {
		l.options.Wait(holder, l.requestText(lease))
	}
}

// take creates a lease that does not exist, or takes over one that has not changed since it was read.
func (l *Lock) take(ctx context.Context, lease *coordinationv1.Lease) (held bool, err error) {
	sent := l.now()
	next := lease.DeepCopy()
	l.describe(next, sent)
	var written *coordinationv1.Lease
	if lease.UID == "" {
		written, err = l.leases.Create(ctx, next, metav1.CreateOptions{FieldManager: ReconcilerName})
	} else {
		written, err = l.leases.Update(ctx, next, metav1.UpdateOptions{FieldManager: ReconcilerName})
	}
	switch {
	case apierrors.IsAlreadyExists(err), lease.UID != "" && (apiserver.IsOutdated(err) || apierrors.IsNotFound(err)):
		return false, nil
	case err != nil:
		return false, err
	}
	l.lease, l.renewed = written, sent
	return true, nil
}

// describe makes a lease ours.
func (l *Lock) describe(lease *coordinationv1.Lease, now time.Time) {
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, lockAnnotation, l.identity)
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, operationAnnotation, l.options.Operation)
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, cancelableAnnotation, strconv.FormatBool(l.options.Cancelable))
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, startedAnnotation, l.options.Started.UTC().Format(time.RFC3339Nano))
	// A process that was asked to end has lost the lock.
	delete(lease.Annotations, cancelAnnotation)
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity:       &l.options.Holder,
		LeaseDurationSeconds: new(int32(l.options.validity / time.Second)), //nolint:gosec // less than 68 years
		AcquireTime:          &metav1.MicroTime{Time: now},
		RenewTime:            &metav1.MicroTime{Time: now},
		LeaseTransitions:     new(ptr.Deref(lease.Spec.LeaseTransitions, -1) + 1),
	}
}

// isOurs reports whether a lease was written by this process for this lock.
func (l *Lock) isOurs(lease *coordinationv1.Lease) bool {
	return lease.Annotations[lockAnnotation] == l.identity
}

// Fence returns nil when the lock was certainly held at some time since the call began. It waits while that is
// uncertain. The error is ErrLockLost if the lock is lost, and wraps the cause of the context if that ends first.
func (l *Lock) Fence(ctx context.Context) error {
	for told := false; ; told = true {
		doubt, err := l.held()
		if err != nil || doubt == nil {
			return err
		}
		if !told && l.options.Doubt != nil {
			l.options.Doubt(doubt)
		}
		select {
		case <-time.After(l.pause()):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", doubt, context.Cause(ctx))
		}
	}
}

// held checks whether the lock is held. doubt is the reason why this is uncertain, err why the lock has ended.
func (l *Lock) held() (doubt, err error) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	age := concurrent.Elapsed(l.renewed, now)
	if l.over != nil || l.lease == nil || age < l.trustPeriod() {
		return nil, l.over
	}
	doubt = fmt.Errorf("waiting for the API server to renew the lock of release %s, which was last renewed %s ago, and is trusted for %s",
		l.release, age.Round(time.Second), l.trustPeriod())
	if l.failure != nil {
		doubt = fmt.Errorf("%w: %w", doubt, l.failure)
	}
	return doubt, nil
}

// Lost returns a channel that is closed when the lock is lost, because another process has taken or removed the lease.
// Fence returns the reason.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// Release gives the lock back, so that other processes need not wait until it expires. Afterwards, RequestedBy accounts
// for all earlier requests. If the lock is lost, Release does not touch the lease. Further calls do nothing.
func (l *Lock) Release(ctx context.Context) error {
	l.stop()
	l.renewing.Wait()
	l.mu.Lock()
	lease, over := l.lease, l.over
	l.lease = nil
	if l.over == nil {
		l.over = fmt.Errorf("the lock of release %s was released", l.release)
	}
	l.mu.Unlock()
	if lease == nil || over != nil {
		return nil
	}
	err := l.remove(ctx, lease)
	if apiserver.IsOutdated(err) {
		// A renewal may have succeeded although it seemed to have failed.
		if lease, err = l.reread(ctx); err == nil {
			err = l.remove(ctx, lease)
		}
	}
	if err != nil && !apierrors.IsNotFound(err) && !errors.Is(err, errTaken) {
		return fmt.Errorf("releasing the lock of release %s: deleting Lease %s/%s: %w", l.release, l.options.Namespace, prefix+l.options.Name, err)
	}
	return nil
}

func (l *Lock) remove(ctx context.Context, lease *coordinationv1.Lease) error {
	return l.leases.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}})
}

// renewals renew the lease until the context ends or the lock is lost.
func (l *Lock) renewals(ctx context.Context) {
	next := l.interval()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
		next = l.interval()
		err := l.renew(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errTaken):
			l.lose(err)
			return
		case err != nil:
			l.mu.Lock()
			l.failure = err
			l.mu.Unlock()
			next = l.pause()
		}
	}
}

// errTaken means that a lease is no longer ours.
var errTaken = errors.New("another process has taken or removed it")

func (l *Lock) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.interval())
	defer cancel()
	l.mu.Lock()
	next := l.lease.DeepCopy()
	l.mu.Unlock()
	sent := l.now()
	next.Spec.RenewTime = &metav1.MicroTime{Time: sent}
	written, err := l.leases.Update(ctx, next, metav1.UpdateOptions{FieldManager: ReconcilerName})
	switch {
	case apierrors.IsNotFound(err):
		return errTaken
	case apiserver.IsOutdated(err):
		// The lease may still be ours: the attempt before may have succeeded although it seemed to have failed, or
		// another process may have asked us to end.
		found, err := l.reread(ctx)
		if err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lease = found
		return errors.New("it has changed in the meantime")
	case err != nil:
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lease, l.renewed, l.failure = written, sent, nil
	l.hear(written)
	return nil
}

// reread returns our lease as it is now. The error is errTaken if it is no longer ours.
func (l *Lock) reread(ctx context.Context) (*coordinationv1.Lease, error) {
	found, err := l.leases.Get(ctx, prefix+l.options.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !l.isOurs(found) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hear(found)
	return found, nil
}

// lose marks the lock as lost.
func (l *Lock) lose(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = fmt.Errorf("the lock of release %s %w: renewing Lease %s/%s: %w", l.release, ErrLockLost, l.options.Namespace, prefix+l.options.Name, reason)
	close(l.lost)
}

const (
	// operationAnnotation is the operation of the holder of a lock, in one word.
	operationAnnotation = ReconcilerName + "/operation"
	// cancelableAnnotation is whether the holder ends its operation when another process asks for that: "true" or
	// "false".
	cancelableAnnotation = ReconcilerName + "/cancelable"
	// startedAnnotation is when the process of the holder was started, by its own clock.
	startedAnnotation = ReconcilerName + "/started"
	// cancelAnnotation has the operation and the holder of the process that has asked the holder of the lock to end its
	// operation.
	cancelAnnotation = ReconcilerName + "/cancel-requested-by"
	// maxRequester is the maximum length of the reported part of that annotation, in bytes.
	maxRequester = 300
)

// requestText describes whether the holder of a lease is asked to end its operation; empty without CancelOlder.
func (l *Lock) requestText(lease *coordinationv1.Lease) string {
	if !l.options.CancelOlder {
		return ""
	}
	return cmp.Or(l.obstacle(lease), "its "+lease.Annotations[operationAnnotation]+" is asked to end")
}

// obstacle returns why the holder of a lease must not be asked to end its operation; empty if it may be asked.
func (l *Lock) obstacle(lease *coordinationv1.Lease) string {
	operation := lease.Annotations[operationAnnotation]
	if lease.Annotations[cancelableAnnotation] != "true" {
		return fmt.Sprintf("its operation (%s) is not canceled", operation)
	}
	started, err := time.Parse(time.RFC3339Nano, lease.Annotations[startedAnnotation])
	if err != nil || !started.Before(l.options.Started) {
		return fmt.Sprintf("its operation (%s) is not canceled, because it was started later than this one", operation)
	}
	return ""
}

// ask asks the holder of the lease to end its operation, unless it has been asked already, there is an obstacle, or the
// lease has changed in the meantime. The request does not count as a renewal: the lease expires when it would have
// without it.
func (l *Lock) ask(ctx context.Context, lease *coordinationv1.Lease) error {
	if !l.options.CancelOlder || lease.Annotations[cancelAnnotation] != "" || l.obstacle(lease) != "" {
		return nil
	}
	next := lease.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, cancelAnnotation, l.options.Operation+" of "+l.options.Holder)
	_, err := l.leases.Update(ctx, next, metav1.UpdateOptions{FieldManager: ReconcilerName})
	if err != nil && !apiserver.IsOutdated(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("asking %s to end its operation: %w", holderOf(lease).Name, err)
	}
	return nil
}

// Requested returns a channel that is closed when a newer process asks this one to end its operation. The lock is still
// held then. It is never closed unless LockOptions.Cancelable is set.
func (l *Lock) Requested() <-chan struct{} { return l.requested }

// RequestedBy returns the operation and the holder of the newer process, such as "apply of jane@laptop/4711"; empty as
// long as none has asked. It may also be called after Release.
func (l *Lock) RequestedBy() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requestedBy
}

// hear stores the request to end the operation if there is one in our lease. The caller holds the mutex.
func (l *Lock) hear(lease *coordinationv1.Lease) {
	by := lease.Annotations[cancelAnnotation]
	if by == "" || !l.options.Cancelable || l.requestedBy != "" {
		return
	}
	l.requestedBy = texts.Truncate(by, maxRequester)
	close(l.requested)
}

// Holder returns the holder of the lock of a release; nil if there is none, or if the user may not read the lease.
func (s *Store) Holder(ctx context.Context, namespace, name string) (*Holder, error) {
	lease := &coordinationv1.Lease{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: prefix + name}, lease)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Lease %s/%s: %w", namespace, prefix+name, err)
	}
	holder := holderOf(lease)
	if holder.Name == "" {
		return nil, nil
	}
	return &holder, nil
}
