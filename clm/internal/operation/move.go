// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// Move moves objects. First the receiver records that it has them; then the label of each object changes, in one write;
// then the giver records that it no longer has them. At any time the label says who owns an object, whatever is
// recorded, and repeating an interrupted move continues it. It does not wait for other objects of the releases, apart
// from those of earlier waves of the receiver. Errors are those of Apply.
func (t *Transfer) Move(ctx context.Context, options Options) error {
	options.Wait = WaitReady
	b := runner.NewBoard(t.connection, string(Move), t.To.Release.String(), t.To.Revision.Number)
	err := runner.Interrupted(ctx, t.move(ctx, options, b))
	b.Finish(t.outcome(err), err)
	return err
}

func (t *Transfer) outcome(err error) display.Outcome {
	between := fmt.Sprintf("from release %s to release %s", t.From.Release, t.To.Release)
	switch {
	case err != nil:
		summary := fmt.Sprintf("moving %s %s: %s", display.Count(len(t.Objects), "object"), between, releases.Summary(err))
		return display.Outcome{Summary: summary, Next: releases.Next(err, t.To.Release)}
	case t.left == 0:
		return display.Outcome{Done: true, Summary: fmt.Sprintf("nothing left to move %s", between)}
	default:
		return display.Outcome{Done: true, Summary: fmt.Sprintf("moved %s %s", display.Count(t.left, "object"), between)}
	}
}

func (t *Transfer) move(ctx context.Context, options Options, b *runner.Board) error {
	to, from, done, err := t.beginBoth(ctx, b, options.Limits)
	if err != nil {
		return err
	}
	defer done()
	if err := from.ConfirmUnchanged(ctx); err != nil {
		return err
	}
	ctx, stop := from.WatchLock(ctx)
	defer stop()
	options.Enough = t.areReady
	failure := t.To.CarryOut(ctx, to, options)
	if failure != nil && !releases.IsFailure(failure) {
		return failure
	}
	if !t.concerns(failure) {
		failure = nil
	}
	if err := t.confirmOwner(ctx); err != nil {
		return errors.Join(failure, err)
	}
	b.Say(fmt.Sprintf("release %s gives up its ownership", t.From.Release))
	// Its progress is not about the objects that were moved.
	from.Mute()
	// Nothing is left to be done there.
	options.Enough = func(reconciler.Result) bool { return true }
	err = t.From.CarryOut(ctx, from, options)
	var notReady *releases.NotReadyError
	if err != nil && !(errors.As(err, &notReady) && len(notReady.Failed) > 0) {
		stage := fmt.Sprintf("ending the ownership of release %s", t.From.Release)
		return errors.Join(failure, &releases.StageError{Stage: stage, Advice: releases.Next(err, t.From.Release), Cause: err})
	}
	return failure
}

// areReady reports whether all objects that are moved are ready in the receiver.
func (t *Transfer) areReady(result reconciler.Result) bool {
	for _, object := range t.Objects {
		if !slices.ContainsFunc(result.Inventory, func(item *reconciler.InventoryItem) bool { return item.Matches(object) && isDone(item) }) {
			return false
		}
	}
	return true
}

// concerns reports whether an error is due to an object that is moved, or to anything but objects.
func (t *Transfer) concerns(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) == 1 {
		err = joined.Unwrap()[0]
	}
	notReady, ok := err.(*releases.NotReadyError) //nolint:errorlint // nothing else must have failed
	if !ok || notReady.Cause != nil {
		return err != nil
	}
	return slices.ContainsFunc(slices.Concat(notReady.Failed, notReady.Waits), func(notice reconciler.Notice) bool {
		return slices.ContainsFunc(t.Objects, func(object display.Object) bool { return object.Key() == display.KeyOf(notice.Object) })
	})
}

// beginBoth acquires the locks of both releases, always in the same order. The function that it returns releases them.
func (t *Transfer) beginBoth(ctx context.Context, b *runner.Board, limits runner.Limits) (to, from *runner.Operation, done func(), err error) {
	first, second := t.To.Release, t.From.Release
	isSwapped := second.String() < first.String()
	if isSwapped {
		first, second = second, first
	}
	to, endFirst, err := runner.Begin(ctx, t.connection, first, b, limits)
	if err != nil {
		return nil, nil, nil, err
	}
	from, endSecond, err := runner.Begin(ctx, t.connection, second, b, limits)
	if err != nil {
		endFirst()
		return nil, nil, nil, err
	}
	if isSwapped {
		to, from = from, to
	}
	return to, from, func() {
		endSecond()
		endFirst()
	}, nil
}

// confirmOwner returns an error that names the objects that still belong to the giver.
func (t *Transfer) confirmOwner(ctx context.Context) error {
	var left []string
	for _, object := range t.Objects {
		owner, err := releases.ReadOwner(ctx, t.connection.Client(), object)
		if err != nil {
			return err
		}
		if !owner.Is(releases.OwnerID(t.To.Release.Namespace, t.To.Release.Name)) {
			left = append(left, object.String())
		}
	}
	if len(left) > 0 {
		return releases.Refused("release %s has not adopted %v yet, because earlier waves are not ready; they still belong to release %s. To continue, run the same command again",
			t.To.Release, left, t.From.Release)
	}
	return nil
}
