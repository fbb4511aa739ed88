// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package deletionhooks

import (
	"slices"

	"github.com/component-operator/runtime/pkg/types"
)

// Stage says how far a deletion has come. It is recorded; so its values never change.
type Stage string

const (
	// StagePreDelete means that pre-delete hooks are applied and awaited.
	StagePreDelete Stage = "PreDelete"
	// StagePreDeleteCleanup means that pre-delete hooks are done, and are being removed.
	StagePreDeleteCleanup Stage = "PreDeleteCleanup"
	// StageDependents means that dependents are being deleted.
	StageDependents Stage = "Dependents"
	// StagePostDelete means that all dependents are gone, and post-delete hooks are applied and awaited.
	StagePostDelete Stage = "PostDelete"
	// StagePostDeleteCleanup means that post-delete hooks are done, and are being removed.
	StagePostDeleteCleanup Stage = "PostDeleteCleanup"
	// StageDone means that no hook is left to be applied or removed.
	StageDone Stage = "Done"
)

// order has all stages in their order; the empty one stands for a deletion that has not begun.
var order = []Stage{"", StagePreDelete, StagePreDeleteCleanup, StageDependents, StagePostDelete, StagePostDeleteCleanup, StageDone}

// Reached tells whether a deletion has come to a stage, or passed it. A stage that is not known comes before all others.
func (s Stage) Reached(stage Stage) bool {
	return slices.Index(order, s) >= slices.Index(order, stage)
}

// Time is when hooks are applied: PreDelete or PostDelete.
type Time struct {
	hook                   string
	applying, cleanup, end Stage
}

var (
	// PreDelete is before the first dependent is deleted.
	PreDelete = Time{types.DeletionHookPreDelete, StagePreDelete, StagePreDeleteCleanup, StageDependents}
	// PostDelete is when all dependents are gone.
	PostDelete = Time{types.DeletionHookPostDelete, StagePostDelete, StagePostDeleteCleanup, StageDone}
)

// String returns the value of the annotation, such as "pre-delete".
func (t Time) String() string { return t.hook }

// Wants tells whether the hooks are still to be applied, or awaited.
func (t Time) Wants(stage Stage) bool { return !stage.Reached(t.cleanup) }

// Over tells whether the hooks are done and removed.
func (t Time) Over(stage Stage) bool { return stage.Reached(t.end) }
