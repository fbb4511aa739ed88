// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"context"
	"errors"
	"slices"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// Inspection returns the options with which package live looks at dependents of a release.
func Inspection(c *runner.Connection, release *releases.Release, items []*reconciler.InventoryItem) live.Options {
	return runner.Inspection(c, releases.OwnerID(release.Namespace, release.Name), items)
}

// Unready reports on the dependents and deletion hooks that are not ready according to the error of an operation. It
// returns nil for errors other than NotReadyError.
func Unready(ctx context.Context, c *runner.Connection, release *releases.Release, err error) (*live.Report, error) {
	var notReady *releases.NotReadyError
	if !errors.As(err, &notReady) {
		return nil, nil
	}
	var items []*reconciler.InventoryItem
	for _, notice := range notReady.Waits {
		for _, item := range slices.Concat(release.Inventory, release.HookInventory) {
			if item.Matches(notice.Object) && len(items) < maxExplained {
				items = append(items, item)
			}
		}
	}
	if len(items) == 0 {
		return nil, nil
	}
	report, err := live.Tree(ctx, Inspection(c, release, items))
	if err != nil {
		return nil, err
	}
	// The operation has waited for an object that is ready because of other objects, such as the instances of a type.
	// The error has named those.
	report.Nodes = slices.DeleteFunc(report.Nodes, func(node *display.Node) bool { return node.Status == status.CurrentStatus })
	if len(report.Nodes) == 0 {
		return nil, nil
	}
	return report, nil
}

// maxExplained bounds the number of dependents that are reported on.
const maxExplained = 20
