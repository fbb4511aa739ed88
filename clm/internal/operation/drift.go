// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// DriftState says what will happen to an object that differs from its revision.
type DriftState string

const (
	// DriftHealable means that the object was changed or deleted, and that it can be corrected or restored.
	DriftHealable DriftState = "Correctable"
	// DriftLeftAlone means that the object was changed or deleted, and that its drift policy says to leave it alone.
	DriftLeftAlone DriftState = "LeftAlone"
	// DriftRefused means that the object cannot be corrected, because it has another owner, or the server would reject
	// it.
	DriftRefused DriftState = "Refused"
	// DriftPending means that the object has not drifted: the revision was not applied completely.
	DriftPending DriftState = "Pending"
)

// Drift is one object that differs from its revision.
type Drift struct {
	reconciler.Change

	State DriftState
}

// Drift returns the objects that differ from the revision, in the order of the changes. It is meant for plans made by
// PlanCurrent.
func (p *Plan) Drift() []Drift {
	recorded := make(map[display.Key]*reconciler.InventoryItem, len(p.Release.Inventory))
	for _, item := range p.Release.Inventory {
		recorded[display.KeyOf(item)] = item
	}
	var drift []Drift
	for _, change := range p.Changes {
		if state := driftState(change, recorded[display.KeyOf(change.Object)]); state != "" {
			drift = append(drift, Drift{Change: change, State: state})
		}
	}
	return drift
}

func driftState(change reconciler.Change, item *reconciler.InventoryItem) DriftState {
	written := item != nil && item.LastAppliedAt != nil
	switch {
	case IsOver(change):
		return ""
	case change.Refusal != "":
		return DriftRefused
	case change.Verb.IsCorrection(), change.Verb == reconciler.VerbAdopted && written:
		return DriftHealable
	case change.Verb != "":
		return DriftPending
	case change.Reason != "" && written && item.Phase != reconciler.PhaseFailed && item.Phase != reconciler.PhaseKept:
		return DriftLeftAlone
	default:
		return ""
	}
}
