// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/failures"
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

// saveTimeout bounds how long an operation that was interrupted, or has run out of time, may take to record how far it came.
const saveTimeout = 10 * time.Second

// An Operation changes a release while it holds the lock.
type Operation struct {
	connection *connection.Connection
	release    *releases.Release
	lock       *releases.Lock
	board      *Board
}

// Begin takes the lock of a release. The function that it returns gives the lock back.
func Begin(ctx context.Context, c *connection.Connection, release *releases.Release, b *Board, limits Limits) (*Operation, func(), error) {
	lock, err := c.Records().Lock(ctx, releases.LockOptions{
		Namespace: release.Namespace,
		Name:      release.Name,
		Holder:    c.Holder(),
		Timeout:   limits.LockTimeout,
		Wait: func(holder string, since time.Time) {
			b.Say(fmt.Sprintf("waiting for the lock, which %s holds since %s", holder, since.Local().Format(time.TimeOnly)))
		},
		Doubt: b.trouble,
	})
	if err != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return nil, nil, &failures.InterruptedError{}
	}
	if err != nil {
		return nil, nil, err
	}
	o := &Operation{connection: c, release: release, lock: lock, board: b}
	return o, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
		defer cancel()
		// If it cannot be given back, it expires.
		_ = lock.Release(ctx)
	}, nil
}

// GiveUp shows that an operation is not begun anew, although the error asks for another plan.
func GiveUp(c *connection.Connection, err error) {
	c.Printer().Finish(progress.Outcome{Summary: err.Error()})
}

// Release is the one that is changed.
func (o *Operation) Release() *releases.Release { return o.release }

// Board is where to show how the operation goes.
func (o *Operation) Board() *Board { return o.board }

// Mute has nothing more shown of the operation.
func (o *Operation) Mute() { o.board = NewQuietBoard(o.connection) }

// CheckLock returns an error if the lock is not held any more. It is to be called before each write.
func (o *Operation) CheckLock(ctx context.Context) error { return o.lock.Fence(ctx) }

// ConfirmUnchanged reads the release again.
func (o *Operation) ConfirmUnchanged(ctx context.Context) error {
	current, err := o.connection.Records().Get(ctx, o.release.Namespace, o.release.Name)
	if errors.Is(err, releases.ErrNotFound) && !o.release.Recorded() {
		return nil
	}
	if err != nil && !errors.Is(err, releases.ErrNotFound) {
		return err
	}
	if err != nil || !current.SameRecord(o.release) {
		return &failures.ChangedError{Release: o.release.String()}
	}
	return nil
}

// UnlessChanged returns the error of a write to the record, but says in its place that somebody else has written it.
func (o *Operation) UnlessChanged(err error) error {
	if errors.Is(err, releases.ErrOutdated) {
		return &failures.ChangedError{Release: o.release.String()}
	}
	return err
}

// Fence returns what is to be called before each request that changes something: its error says that the context has ended, or that the lock is lost.
func (o *Operation) Fence(ctx context.Context) func() error {
	return func() error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return o.lock.Fence(ctx)
	}
}

// LiftBarriers lets instances of types be created again whose deletion was not finished, also when the time of the operation is over.
func (o *Operation) LiftBarriers(ctx context.Context, t *Target) error {
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
func (o *Operation) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	if err := o.lock.Fence(ctx); err != nil {
		return err
	}
	o.release.Inventory = inventory
	return o.connection.Records().Save(ctx, o.release)
}

// Record notes how far the operation came, also when its time is over. If the lock is lost, nothing is noted: the release is somebody else's now.
func (o *Operation) Record(ctx context.Context, change func(release *releases.Release)) error {
	var lost *releases.LostLockError
	if errors.As(context.Cause(ctx), &lost) {
		return nil
	}
	ctx, cancel := lingering(ctx, saveTimeout)
	defer cancel()
	err := o.lock.Fence(ctx)
	if err == nil {
		change(o.release)
		err = o.connection.Records().Save(ctx, o.release)
	}
	if err != nil && ctx.Err() != nil {
		// That it was cancelled is not to be taken for an interrupt.
		return fmt.Errorf("recording how far it came: it could not be written within %s", saveTimeout)
	}
	return err
}

// WatchLock ends the context when the lock is lost.
func (o *Operation) WatchLock(ctx context.Context) (context.Context, context.CancelFunc) {
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
