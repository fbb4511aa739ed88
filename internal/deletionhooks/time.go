// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deletionhooks

import (
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// Time says when hooks are applied: PreDelete or PostDelete.
type Time struct {
	hook                   string
	applying, cleanup, end inventory.DeletionStage
}

var (
	// PreDelete is before the first dependent is deleted.
	PreDelete = Time{types.DeletionHookPreDelete, inventory.DeletionStagePreDelete, inventory.DeletionStagePreDeleteCleanup, inventory.DeletionStageDependents}
	// PostDelete is after the last dependent is gone.
	PostDelete = Time{types.DeletionHookPostDelete, inventory.DeletionStagePostDelete, inventory.DeletionStagePostDeleteCleanup, inventory.DeletionStageDone}
)

// String returns the value of the annotation, such as "pre-delete".
func (t Time) String() string { return t.hook }

// Wants reports whether the hooks are still to be applied, or awaited.
func (t Time) Wants(stage inventory.DeletionStage) bool { return !stage.Reached(t.cleanup) }

// Over reports whether the hooks are done and removed.
func (t Time) Over(stage inventory.DeletionStage) bool { return stage.Reached(t.end) }
