// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package dependents_test

import (
	"testing"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestStateInOperation(t *testing.T) {
	t.Parallel()
	cases := []struct {
		reason string
		object dependents.Dependent
		failed bool
		want   dependents.State
		label  string
	}{
		{"nothing is recorded yet", dependents.Dependent{}, false, dependents.StatePending, "pending"},
		{"its wave has not come", dependents.Dependent{Phase: reconciler.PhaseScheduledForApplication}, false, dependents.StatePending, "pending"},
		{"something keeps it from being applied", dependents.Dependent{Phase: reconciler.PhaseScheduledForApplication, Message: "no namespace"}, false, dependents.StateUnready, "waiting"},
		{"it was created", dependents.Dependent{Phase: reconciler.PhaseCreating, Message: "x"}, false, dependents.StateUnready, "creating"},
		{"it was updated", dependents.Dependent{Phase: reconciler.PhaseUpdating}, false, dependents.StateUnready, "updating"},
		{"it is ready", dependents.Dependent{Phase: reconciler.PhaseReady}, false, dependents.StateReady, "ready"},
		{"it was ready", dependents.Dependent{Phase: reconciler.PhaseReady, Message: "0/1"}, false, dependents.StateUnready, "waiting"},
		{"it has failed", dependents.Dependent{Phase: reconciler.PhaseUpdating}, true, dependents.StateFailed, "failed"},
		{"it has failed, and was removed for that", dependents.Dependent{Phase: reconciler.PhaseFailed}, false, dependents.StateFailed, "failed"},
		{"it is to be purged", dependents.Dependent{Phase: reconciler.PhaseScheduledForCompletion}, false, dependents.StatePending, "pending"},
		{"it is being purged", dependents.Dependent{Phase: reconciler.PhaseCompleting}, false, dependents.StateUnready, "completing"},
		{"it was purged", dependents.Dependent{Phase: reconciler.PhaseCompleted, Verb: reconciler.VerbCompleted}, false, dependents.StateCompleted, "completed"},
		{"it is to be deleted", dependents.Dependent{Phase: reconciler.PhaseScheduledForDeletion}, false, dependents.StatePending, "pending"},
		{"it is being deleted", dependents.Dependent{Phase: reconciler.PhaseDeleting}, false, dependents.StateUnready, "deleting"},
		{"it is gone", dependents.Dependent{Phase: reconciler.PhaseDeleting, Verb: reconciler.VerbDeleted}, false, dependents.StateGone, "deleted"},
		{"it was released", dependents.Dependent{Phase: reconciler.PhaseScheduledForDeletion, Verb: reconciler.VerbOrphaned}, false, dependents.StateStays, "orphaned"},
	}
	for _, tc := range cases {
		tc.object.State = dependents.StateInOperation(tc.object, tc.failed)
		if got, label := tc.object.State, tc.object.Label(); got != tc.want || label != tc.label {
			t.Errorf("%s: got %s %q, wanted %s %q", tc.reason, got, label, tc.want, tc.label)
		}
	}
}
