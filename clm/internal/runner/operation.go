// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Limits are how long an operation may take. The zero value has no limits.
type Limits struct {
	// Timeout starts when the lock is held; zero means no limit.
	Timeout time.Duration
	// LockTimeout is how long to wait for the lock; zero means no limit.
	LockTimeout time.Duration
	// CancelOlder ends an apply or a rollback of an older process that has the lock, instead of waiting for it; see
	// [releases.LockOptions].
	CancelOlder bool
	// Instead is what the user has to do if the operation is interrupted, or reaches its timeout, a sentence. Defaults
	// to running the same command again.
	Instead string
}

// Next says what to do after an operation on a release with the limits that has ended with an error; may be empty.
func (l Limits) Next(err error, release *releases.Release) string {
	var interrupted *releases.InterruptedError
	var notReady *releases.NotReadyError
	var staged *releases.StageError
	switch {
	case l.Instead == "":
	case errors.As(err, &interrupted) && interrupted.CanceledBy == "":
		return l.Instead
	case errors.As(err, &notReady) && !errors.As(err, &staged):
		if release.State == releases.StateDeleting {
			return "To continue: " + releases.Continuation(release)
		}
		return l.Instead
	}
	return releases.Next(err, release)
}

// saveTimeout bounds how long an operation may take to record its progress after its context has ended.
const saveTimeout = 10 * time.Second

// An Operation changes a release while it holds the lock.
type Operation struct {
	connection *Connection
	release    *releases.Release
	lock       *releases.Lock
	board      *Board
	limits     Limits
	// begun says that something may have been recorded.
	begun bool
}

// Begin acquires the lock of a release. The function that it returns releases the lock.
func Begin(ctx context.Context, c *Connection, release *releases.Release, b *Board, limits Limits) (*Operation, func(), error) {
	lock, err := c.Records().Lock(ctx, releases.LockOptions{
		Namespace: release.Namespace,
		Name:      release.Name,
		Holder:    c.Holder(),
		Timeout:   limits.LockTimeout,
		Wait:      func(waiting releases.Waiting) { b.Say(waitingText(waiting)) },
		Doubt:     b.trouble,

		Operation:   b.state.Operation,
		Started:     c.Started(),
		Cancelable:  isCancelable(b.state.Operation),
		CancelOlder: limits.CancelOlder,
	})
	if err != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return nil, nil, &releases.InterruptedError{}
	}
	if err != nil {
		return nil, nil, err
	}
	o := &Operation{connection: c, release: release, lock: lock, board: b, limits: limits}
	return o, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
		defer cancel()
		// If that fails, the lock expires.
		_ = lock.Release(ctx)
	}, nil
}

// isCancelable reports whether a newer process may end an operation. What follows an apply or a rollback says what the
// release is to be, and begins with what those have recorded. Other operations do what no later one would do for them.
func isCancelable(operation string) bool { return operation == "apply" || operation == "rollback" }

// waitingText says what an operation waits for that needs the lock.
func waitingText(waiting releases.Waiting) string {
	text := fmt.Sprintf("waiting for the lock, held by %s since %s", waiting.Holder, waiting.Since.Local().Format(time.TimeOnly))
	switch {
	case waiting.Asked != "":
		return text + "; its " + waiting.Asked + " is asked to end"
	case waiting.Obstacle != "":
		return text + "; " + waiting.Obstacle
	default:
		return text
	}
}

// GiveUp shows the error of an operation that would need another plan, and is not tried again.
func GiveUp(c *Connection, err error) {
	c.Printer().Finish(display.Outcome{Summary: err.Error()})
}

// Release returns the release that the operation changes.
func (o *Operation) Release() *releases.Release { return o.release }

// Board returns the board that shows the operation.
func (o *Operation) Board() *Board { return o.board }

// Mute stops showing the operation.
func (o *Operation) Mute() { o.board = NewQuietBoard(o.connection, o.board.state.Operation) }

// CheckLock returns an error if the lock is lost. It must be called before each write.
func (o *Operation) CheckLock(ctx context.Context) error { return o.lock.Fence(ctx) }

// ConfirmUnchanged reads the release again, and returns a ChangedError if another process has changed it, or the error
// of CheckOvertaken.
func (o *Operation) ConfirmUnchanged(ctx context.Context) error {
	current, err := o.connection.Records().Get(ctx, o.release.Namespace, o.release.Name)
	if errors.Is(err, releases.ErrNotFound) && !o.release.Recorded() {
		return nil
	}
	if err != nil && !errors.Is(err, releases.ErrNotFound) {
		return err
	}
	if err == nil {
		if err := CheckOvertaken(o.connection, current, o.limits); err != nil {
			return err
		}
	}
	if err != nil || !current.SameRecord(o.release) {
		return &releases.ChangedError{Release: o.release.String()}
	}
	return nil
}

// CheckOvertaken returns an InterruptedError if the limits say that older operations are canceled, and this process is
// the older one: an apply or a rollback of the release has begun whose process was started later. Without that option,
// operations follow each other in the order in which they get the lock.
func CheckOvertaken(c *Connection, release *releases.Release, limits Limits) error {
	if !limits.CancelOlder {
		return nil
	}
	if by := release.Begun.Overtaken(c.Started(), c.Clock().Now()); by != "" {
		return &releases.InterruptedError{CanceledBy: by, Untouched: true}
	}
	return nil
}

// Sign notes in the release that the operation has begun, if later ones are to know that. The next write records it.
func (o *Operation) Sign() {
	if operation := o.board.state.Operation; isCancelable(operation) {
		o.release.Begun = releases.Begun{By: operation + " of " + o.connection.Holder(), Started: o.connection.Started().UTC().Round(0)}
	}
}

// UnlessChanged returns the error of a write to the record; if another process has written the record, that is a
// ChangedError.
func (o *Operation) UnlessChanged(err error) error {
	if errors.Is(err, releases.ErrOutdated) {
		return &releases.ChangedError{Release: o.release.String()}
	}
	return err
}

// Fence returns a function to be called before each writing request: its error says that the context has ended, or that
// the lock is lost.
func (o *Operation) Fence(ctx context.Context) func() error {
	return func() error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return o.lock.Fence(ctx)
	}
}

// LiftBarriers allows the creation of instances again for types whose deletion was not finished, even after the context
// has ended.
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

// Record records the progress of the operation, even after its context has ended. If the lock is lost, it records
// nothing: another process may change the release now.
func (o *Operation) Record(ctx context.Context, change func(release *releases.Release)) error {
	var lost *releases.LostLockError
	if errors.As(context.Cause(ctx), &lost) {
		return nil
	}
	ctx, cancel := concurrent.ContextWithGrace(ctx, saveTimeout)
	defer cancel()
	err := o.lock.Fence(ctx)
	if err == nil {
		change(o.release)
		err = o.connection.Records().Save(ctx, o.release)
	}
	if err != nil && ctx.Err() != nil {
		// The cancelled context must not be mistaken for an interrupt.
		return fmt.Errorf("recording the progress: the record could not be written within %s", saveTimeout)
	}
	return err
}

// CheckCanceled returns an InterruptedError if a newer operation has asked this one to end. It may also be called when
// the lock was given back.
func (o *Operation) CheckCanceled() error {
	if by := o.lock.RequestedBy(); by != "" {
		return &releases.InterruptedError{CanceledBy: by, Untouched: !o.begun}
	}
	return nil
}

// UntilCanceled returns a context that ends when a newer operation asks this one to end. Its cause is an
// InterruptedError then. The operation has begun with the call.
func (o *Operation) UntilCanceled(ctx context.Context) (context.Context, context.CancelFunc) {
	o.begun = true
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-o.lock.Requested():
			cancel(&releases.InterruptedError{CanceledBy: o.lock.RequestedBy()})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// WatchLock returns a context that ends when the lock is lost.
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
