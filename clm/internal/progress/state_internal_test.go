// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestStanding(t *testing.T) {
	t.Parallel()
	cases := []struct {
		reason string
		object Object
		want   standing
		label  string
	}{
		{"nothing is recorded yet", Object{}, pending, "pending"},
		{"its wave has not come", Object{Phase: reconciler.PhaseScheduledForApplication}, pending, "pending"},
		{"something keeps it from being applied", Object{Phase: reconciler.PhaseScheduledForApplication, Wait: "no namespace"}, moving, "waiting"},
		{"it was created", Object{Phase: reconciler.PhaseCreating, Wait: "x"}, moving, "creating"},
		{"it was updated", Object{Phase: reconciler.PhaseUpdating}, moving, "updating"},
		{"it is ready", Object{Phase: reconciler.PhaseReady}, done, "ready"},
		{"it was ready", Object{Phase: reconciler.PhaseReady, Wait: "0/1"}, moving, "waiting"},
		{"it has failed", Object{Phase: reconciler.PhaseUpdating, Failed: true}, failed, "failed"},
		{"it has failed, and was removed for that", Object{Phase: reconciler.PhaseFailed}, failed, "failed"},
		{"it is to be purged", Object{Phase: reconciler.PhaseScheduledForCompletion}, pending, "pending"},
		{"it is being purged", Object{Phase: reconciler.PhaseCompleting}, moving, "completing"},
		{"it was purged", Object{Phase: reconciler.PhaseCompleted, Verb: reconciler.VerbCompleted}, done, "completed"},
		{"it is to be deleted", Object{Phase: reconciler.PhaseScheduledForDeletion}, pending, "pending"},
		{"it is being deleted", Object{Phase: reconciler.PhaseDeleting}, moving, "deleting"},
		{"it is gone", Object{Phase: reconciler.PhaseDeleting, Verb: reconciler.VerbDeleted}, done, "deleted"},
		{"it was released", Object{Phase: reconciler.PhaseScheduledForDeletion, Verb: reconciler.VerbOrphaned}, done, "orphaned"},
	}
	for _, tc := range cases {
		if got, label := tc.object.standing(), tc.object.label(); got != tc.want || label != tc.label {
			t.Errorf("%s: got %s %q, wanted %s %q", tc.reason, got, label, tc.want, tc.label)
		}
	}
}
