// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"slices"
	"time"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// ClearTests removes the objects of test runs, as part of an operation on the release. A timeout of 0 means no limit.
func ClearTests(ctx context.Context, c *connection.Connection, o *runner.Operation, release *releases.Release, timeout time.Duration) error {
	target, err := runner.NewTarget(c, releases.TestOwnerID(release.Namespace, release.Name), release.TestInventory)
	if err != nil {
		return err
	}
	defer target.Close()
	r := removal{store: &store{connection: c, operation: o, release: release}, target: target, timeout: timeout}
	return r.run(ctx)
}

// removal removes the objects of test runs.
type removal struct {
	store   *store
	target  *runner.Target
	timeout time.Duration
	// stays reports whether to keep an object. Defaults to removing all.
	stays func(item *reconciler.InventoryItem) bool
}

func (r *removal) run(ctx context.Context) error {
	release, board := r.store.release, r.store.operation.Board()
	var gone []*reconciler.InventoryItem
	for _, item := range release.TestInventory {
		if r.stays != nil && r.stays(item) {
			r.store.kept = append(r.store.kept, item)
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
		Target: r.target, Board: board, Timeout: r.timeout, Start: phase, Phase: func(reconciler.Result) string { return phase },
		Call: func(ctx context.Context) (reconciler.Result, error) {
			owner := r.store.owner(ctx, r.target)
			owner.Inventory = gone
			result, err := r.target.Engine().Delete(ctx, reconciler.DeleteRequest{Owner: owner, Unasked: true})
			gone = result.Inventory
			release.TestInventory = slices.Concat(r.store.kept, gone)
			return result, err
		},
	}
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	return r.store.operation.Record(ctx, func(release *releases.Release) { release.TestInventory = r.store.kept })
}

// owner is the release as the owner of its tests.
func (s *store) owner(ctx context.Context, target *runner.Target) reconciler.Owner {
	return reconciler.Owner{ID: target.Owner(), Namespace: s.release.Namespace, Home: []string{s.release.Namespace}, Store: s, Fence: s.operation.Fence(ctx)}
}

// store records the inventory of tests.
type store struct {
	connection *connection.Connection
	operation  *runner.Operation
	release    *releases.Release
	// kept are items that stay in the inventory, in addition to those of Save.
	kept []*reconciler.InventoryItem
}

// Save records the inventory and the kept items.
func (s *store) Save(ctx context.Context, inventory []*reconciler.InventoryItem) error {
	if err := s.operation.CheckLock(ctx); err != nil {
		return err
	}
	s.release.TestInventory = slices.Concat(s.kept, inventory)
	return s.connection.Records().Save(ctx, s.release)
}
