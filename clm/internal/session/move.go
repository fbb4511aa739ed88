// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/clm/internal/releases"
)

// Move hands objects over. First the one release records that it has them; then the mark of the owner changes, in one write for each
// object; then the other release records that it has them no more. At any time the mark says who owns an object, whatever is recorded, and doing
// the same again goes on with what was interrupted. Errors are those of Apply.
func (s *Session) Move(ctx context.Context, t *Transfer, options ApplyOptions) error {
	options.NoWait = false
	b := newBoard(s, string(Move), t.To.Release.String())
	b.state.Revision = t.To.Revision.Number
	err := s.move(ctx, t, options, b)
	b.finish(t.outcome(err), err)
	return err
}

func (t *Transfer) outcome(err error) progress.Outcome {
	between := fmt.Sprintf("from release %s to release %s", t.From.Release, t.To.Release)
	switch {
	case err != nil:
		return progress.Outcome{Summary: fmt.Sprintf("moving %s %s: %s", objectCount(len(t.Objects)), between, summaryOf(err)), Next: nextAfter(err)}
	case t.left == 0:
		return progress.Outcome{Done: true, Summary: fmt.Sprintf("nothing was left to be moved %s", between)}
	default:
		return progress.Outcome{Done: true, Summary: fmt.Sprintf("moved %s %s", objectCount(t.left), between)}
	}
}

func objectCount(count int) string {
	if count == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", count)
}

func (s *Session) move(ctx context.Context, t *Transfer, options ApplyOptions, b *board) error {
	operations, done, err := s.beginAll(ctx, b, options.Limits, t.To.Release, t.From.Release)
	if err != nil {
		return err
	}
	defer done()
	to, from := operations[0], operations[1]
	if err := from.confirmUnchanged(ctx); err != nil {
		return err
	}
	ctx, stop := from.watchLock(ctx)
	defer stop()
	failure := to.carryOut(ctx, t.To, options)
	if failure != nil && !IsFailure(failure) {
		return failure
	}
	if err := s.confirmOwner(ctx, t); err != nil {
		return errors.Join(failure, err)
	}
	b.say(fmt.Sprintf("release %s lets go", t.From.Release))
	// What it has to say is not about what was moved.
	quiet := *s
	quiet.options.Printer = silent{}
	from.board = newBoard(&quiet, string(Move), t.From.Release.String())
	if err := from.carryOut(ctx, t.From, options); err != nil {
		return errors.Join(failure, fmt.Errorf("release %s, which lets go: %w", t.From.Release, err))
	}
	return failure
}

// beginAll takes the locks of several releases, in an order that is the same for everybody. The operations are in the order of the releases.
func (s *Session) beginAll(ctx context.Context, b *board, limits Limits, list ...*releases.Release) ([]*operation, func(), error) {
	operations := make([]*operation, len(list))
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(list[a].String(), list[b].String()) })
	var ends []func()
	done := func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	for _, i := range order {
		o, end, err := s.begin(ctx, list[i], b, limits)
		if err != nil {
			done()
			return nil, nil, err
		}
		operations[i], ends = o, append(ends, end)
	}
	return operations, done, nil
}

// confirmOwner says which objects have not gone over.
func (s *Session) confirmOwner(ctx context.Context, t *Transfer) error {
	var left []string
	for _, object := range t.Objects {
		owner, err := s.ownerOf(ctx, object)
		if err != nil {
			return err
		}
		if !owner.is(t.To.target.owner) {
			left = append(left, object.String())
		}
	}
	if len(left) > 0 {
		return refused("release %s has not taken over %v, because it is not ready up to their waves; they stay with release %s until the same command succeeds",
			t.To.Release, left, t.From.Release)
	}
	return nil
}
