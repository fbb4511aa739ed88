// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Limits are how long an operation may take. The zero value waits for ever.
type Limits struct {
	// Timeout is for everything that follows the lock; zero if there is no limit.
	Timeout time.Duration
	// LockTimeout is how long to wait for the lock; zero if there is no limit.
	LockTimeout time.Duration
}

// An operation changes a release while it holds the lock.
type operation struct {
	*Session

	release *releases.Release
	lock    *releases.Lock
	board   *board
}

// begin takes the lock of a release. The function that it returns gives the lock back.
func (s *Session) begin(ctx context.Context, release *releases.Release, b *board, limits Limits) (*operation, func(), error) {
	lock, err := s.records.Lock(ctx, releases.LockOptions{
		Namespace: release.Namespace,
		Name:      release.Name,
		Holder:    s.options.Holder,
		Timeout:   limits.LockTimeout,
		Wait: func(holder string, since time.Time) {
			b.say(fmt.Sprintf("waiting for the lock, which %s holds since %s", holder, since.Local().Format(time.TimeOnly)))
		},
		Doubt: b.trouble,
	})
	if err != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return nil, nil, &InterruptedError{}
	}
	if err != nil {
		return nil, nil, err
	}
	o := &operation{Session: s, release: release, lock: lock, board: b}
	return o, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
		defer cancel()
		// If it cannot be given back, it expires.
		_ = lock.Release(ctx)
	}, nil
}

// errChanged says that a release is not any more as it was when the plan was made.
var errChanged = errors.New("changed")

// IsChanged tells whether an operation was refused because somebody else has changed the release after the plan was made.
func IsChanged(err error) bool { return errors.Is(err, errChanged) }

// GiveUp shows that an operation is not begun anew, although IsChanged is true of its error.
func (s *Session) GiveUp(err error) { s.options.Printer.Finish(progress.Outcome{Summary: err.Error()}) }

type changedError struct{ release string }

func (e *changedError) Error() string {
	return fmt.Sprintf("release %s was changed by somebody else after the plan was made", e.release)
}

func (e *changedError) Is(err error) bool { return err == errChanged }

// confirmUnchanged reads the release again.
func (o *operation) confirmUnchanged(ctx context.Context) error {
	current, err := o.records.Get(ctx, o.release.Namespace, o.release.Name)
	if errors.Is(err, releases.ErrNotFound) && !o.release.Recorded() {
		return nil
	}
	if err != nil && !errors.Is(err, releases.ErrNotFound) {
		return err
	}
	if err != nil || !current.SameRecord(o.release) {
		return &changedError{release: o.release.String()}
	}
	return nil
}

// unlessChanged returns the error of a write to the record, but says in its place that somebody else has written it.
func (o *operation) unlessChanged(err error) error {
	if errors.Is(err, releases.ErrOutdated) {
		return &changedError{release: o.release.String()}
	}
	return err
}

// fence is called before each request that changes something.
func (o *operation) fence(ctx context.Context) func() error {
	return func() error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return o.lock.Fence(ctx)
	}
}

// liftBarriers lets instances of types be created again whose deletion was not finished, also when the time of the operation is over.
func (o *operation) liftBarriers(ctx context.Context, t *target) error {
	if !slices.ContainsFunc(o.release.Inventory, func(item *reconciler.InventoryItem) bool { return item.Barrier != "" }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	var err error
	o.release.Inventory, err = t.engine.LiftBarriers(ctx, reconciler.DeleteRequest{Owner: reconciler.Owner{
		ID: t.owner, Namespace: o.release.Namespace, Inventory: o.release.Inventory, Store: o, Fence: func() error { return o.lock.Fence(ctx) },
	}})
	return err
}

// Save records the inventory of the release; it is the store of the engine.
func (o *operation) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	if err := o.lock.Fence(ctx); err != nil {
		return err
	}
	o.release.Inventory = inventory
	return o.records.Save(ctx, o.release)
}

// record notes how far the operation came, also when its time is over. If the lock is lost, nothing is noted: the release is somebody else's now.
func (o *operation) record(ctx context.Context, change func(release *releases.Release)) error {
	var lost *releases.LostLockError
	if errors.As(context.Cause(ctx), &lost) {
		return nil
	}
	ctx, cancel := lingering(ctx, saveTimeout)
	defer cancel()
	err := o.lock.Fence(ctx)
	if err == nil {
		change(o.release)
		err = o.records.Save(ctx, o.release)
	}
	if err != nil && ctx.Err() != nil {
		// That it was cancelled is not to be taken for an interrupt.
		return fmt.Errorf("recording how far it came: it could not be written within %s", saveTimeout)
	}
	return err
}

// watchLock ends the context when the lock is lost.
func (o *operation) watchLock(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-o.lock.Lost():
			cancel(o.lock.Fence(ctx))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// lacksNamespace tells whether a request has failed because the namespace does not exist.
func lacksNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// createNamespace creates the namespace of a release if that is wanted, or says that it is missing.
func (s *Session) createNamespace(ctx context.Context, name string, wanted bool) error {
	if !wanted {
		return refused("namespace %s does not exist; to have it created: --create-namespace", name)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := s.client.Create(ctx, namespace, client.FieldOwner(releases.ReconcilerName)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}
