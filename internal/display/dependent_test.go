// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"testing"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/inventory"
)

func TestStateInOperation(t *testing.T) {
	t.Parallel()
	cases := []struct {
		reason string
		object display.Dependent
		failed bool
		want   display.State
		label  string
	}{
		{"nothing is recorded yet", display.Dependent{}, false, display.StatePending, "pending"},
		{"its wave has not come", display.Dependent{Phase: inventory.PhaseScheduledForApplication}, false, display.StatePending, "pending"},
		{"something keeps it from being applied", display.Dependent{Phase: inventory.PhaseScheduledForApplication, Message: "no namespace"}, false, display.StateUnready, "waiting"},
		{"it was created", display.Dependent{Phase: inventory.PhaseCreating, Message: "x"}, false, display.StateUnready, "creating"},
		{"it was updated", display.Dependent{Phase: inventory.PhaseUpdating}, false, display.StateUnready, "updating"},
		{"it is ready", display.Dependent{Phase: inventory.PhaseReady}, false, display.StateReady, "ready"},
		{"it was ready", display.Dependent{Phase: inventory.PhaseReady, Message: "0/1"}, false, display.StateUnready, "waiting"},
		{"it has failed", display.Dependent{Phase: inventory.PhaseUpdating}, true, display.StateFailed, "failed"},
		{"it has failed, and was removed for that", display.Dependent{Phase: inventory.PhaseFailed}, false, display.StateFailed, "failed"},
		{"it is to be purged", display.Dependent{Phase: inventory.PhaseScheduledForCompletion}, false, display.StatePending, "pending"},
		{"it is being purged", display.Dependent{Phase: inventory.PhaseCompleting}, false, display.StateUnready, "completing"},
		{"it was purged", display.Dependent{Phase: inventory.PhaseCompleted, Verb: inventory.VerbCompleted}, false, display.StateCompleted, "completed"},
		{"it is to be deleted", display.Dependent{Phase: inventory.PhaseScheduledForDeletion}, false, display.StatePending, "pending"},
		{"it is being deleted", display.Dependent{Phase: inventory.PhaseDeleting}, false, display.StateUnready, "deleting"},
		{"it is gone", display.Dependent{Phase: inventory.PhaseDeleting, Verb: inventory.VerbDeleted}, false, display.StateGone, "deleted"},
		{"it was released", display.Dependent{Phase: inventory.PhaseScheduledForDeletion, Verb: inventory.VerbOrphaned}, false, display.StateStays, "orphaned"},
	}
	for _, tc := range cases {
		tc.object.State = display.StateInOperation(tc.object, tc.failed)
		if got, label := tc.object.State, tc.object.Label(); got != tc.want || label != tc.label {
			t.Errorf("%s: got %s %q, wanted %s %q", tc.reason, got, label, tc.want, tc.label)
		}
	}
}
