// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"slices"
	"time"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// ClearTests removes the objects of test runs, as part of an operation on the release. A timeout of 0 means no limit.
func ClearTests(ctx context.Context, c *runner.Connection, o *runner.Operation, release *releases.Release, timeout time.Duration) error {
	target, err := runner.NewTarget(c, releases.TestOwnerID(release.Namespace, release.Name), release.TestInventory)
	if err != nil {
		return err
	}
	defer target.Close()
	return removeTests(ctx, &testStore{connection: c, operation: o, release: release}, target, timeout, nil)
}

// removeTests removes the objects of test runs, apart from those that stay; nil removes all.
func removeTests(ctx context.Context, s *testStore, target *runner.Target, timeout time.Duration, stays func(item *reconciler.InventoryItem) bool) error {
	release, board := s.release, s.operation.Board()
	var gone []*reconciler.InventoryItem
	for _, item := range release.TestInventory {
		if stays != nil && stays(item) {
			s.kept = append(s.kept, item)
		} else {
			gone = append(gone, item)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	board.Expect(gone)
	const phase = "deleting test objects"
	c := &runner.Convergence{
		Target: target, Board: board, Timeout: timeout, Start: phase, Phase: func(reconciler.Result) string { return phase },
		Call: func(ctx context.Context) (reconciler.Result, error) {
			owner := s.owner(ctx, target)
			owner.Inventory = gone
			result, err := target.Engine().Delete(ctx, reconciler.DeleteRequest{Owner: owner, Unasked: true})
			gone = result.Inventory
			release.TestInventory = slices.Concat(s.kept, gone)
			return result, err
		},
	}
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	return s.operation.Record(ctx, func(release *releases.Release) { release.TestInventory = s.kept })
}

// owner is the release as the owner of its tests.
func (s *testStore) owner(ctx context.Context, target *runner.Target) reconciler.Owner {
	return reconciler.Owner{ID: target.Owner(), Namespace: s.release.Namespace, Home: []string{s.release.Namespace}, Store: s, Fence: s.operation.Fence(ctx)}
}

// testStore records the inventory of tests.
type testStore struct {
	connection *runner.Connection
	operation  *runner.Operation
	release    *releases.Release
	// kept are items that stay in the inventory, in addition to those of Save.
	kept []*reconciler.InventoryItem
}

// Save records the inventory and the kept items.
func (s *testStore) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	if err := s.operation.CheckLock(ctx); err != nil {
		return err
	}
	s.release.TestInventory = slices.Concat(s.kept, inventory)
	return s.connection.Records().Save(ctx, s.release)
}
