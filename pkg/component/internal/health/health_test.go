// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/component/internal/health"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
)

func item(name string, phase inventory.Phase) *inventory.Item {
	return &inventory.Item{TypeVersionInfo: inventory.TypeVersionInfo{Version: "v1", Kind: "Pod"}, NameInfo: inventory.NameInfo{Namespace: "ns", Name: name}, Phase: phase}
}

// wait is a notice about an object.
func wait(name, reason string, grade status.Grade, grace time.Duration) inventory.Notice {
	return inventory.Notice{Object: item(name, ""), Message: "is " + name, Reason: reason, Grade: grade, Grace: grace}
}

func TestCondition(t *testing.T) {
	t.Parallel()
	now := time.Now()
	waiting := func(phase inventory.Phase, notices ...inventory.Notice) health.Facts {
		return health.Facts{
			Outcome: outcomes.Progressing, Message: "message", Waits: notices, Since: now.Add(-time.Minute), Now: now,
			Inventory: []*inventory.Item{item("a", phase), item("b", phase)},
		}
	}
	failed := waiting(inventory.PhaseReady, wait("a", "", "", 0))
	failed.Outcome, failed.Failures = outcomes.Failed, failed.Waits
	unsince := waiting(inventory.PhaseReady, wait("a", "Scaling", status.GradeDown, time.Second))
	unsince.Since = time.Time{}
	for _, tc := range []struct {
		reason string
		facts  health.Facts
		want   health.Condition
	}{
		{"ready", health.Facts{Outcome: outcomes.Ready, Message: "ready"}, health.Condition{Healthy: true, Reason: "Healthy", Message: "ready"}},
		{"deletions are held, but all is ready", health.Facts{Outcome: outcomes.Held}, health.Condition{Healthy: true, Reason: "Healthy"}},
		{"suspended", health.Facts{Outcome: outcomes.Suspended}, health.Condition{Healthy: true, Reason: "Suspended"}},
		{"archived", health.Facts{Outcome: outcomes.Archived}, health.Condition{Healthy: true, Reason: "Archived"}},
		{"being deleted", health.Facts{Outcome: outcomes.Deleting}, health.Condition{Reason: "Deleting"}},
		{"its deletion is blocked", health.Facts{Outcome: outcomes.Blocked}, health.Condition{Reason: "Deleting"}},
		{"a reference is missing", health.Facts{Outcome: outcomes.Retriable, Message: "no Secret"}, health.Condition{Reason: "Blocked", Message: "no Secret"}},
		{"refused", health.Facts{Outcome: outcomes.Refused}, health.Condition{Reason: "Error"}},
		{"an error", health.Facts{Outcome: outcomes.Error}, health.Condition{Reason: "Error"}},
		{"nothing to wait for by name", waiting(""), health.Condition{Reason: "OperationPending", Message: "message"}},
		{"the word of the judge", waiting(inventory.PhaseReady, wait("a", "TaskRunning", "", 0)), health.Condition{Reason: "TaskRunning", Message: "Pod ns/a: is a"}},
		{"a judge without words, created", waiting(inventory.PhaseCreating, wait("a", "", "", 0)), health.Condition{Reason: "Creating", Message: "Pod ns/a: is a"}},
		{"a judge without words, updated", waiting(inventory.PhaseUpdating, wait("a", "", "", 0)), health.Condition{Reason: "Updating", Message: "Pod ns/a: is a"}},
		{"a judge without words, was ready", waiting(inventory.PhaseReady, wait("a", "", "", 0)), health.Condition{Reason: "OperationPending", Message: "Pod ns/a: is a"}},
		{"a judge without words, failed", failed, health.Condition{Reason: "OperationFailing", Message: "Pod ns/a: is a"}},
		{"was ready before", waiting(inventory.PhaseReady, wait("a", "Creating", "", 0)), health.Condition{Reason: "Scaling", Message: "Pod ns/a: is a"}},
		{"was just created", waiting(inventory.PhaseCreating, wait("a", "Scaling", "", 0)), health.Condition{Reason: "Creating", Message: "Pod ns/a: is a"}},
		{"was just updated", waiting(inventory.PhaseUpdating, wait("a", "Scaling", "", 0)), health.Condition{Reason: "Updating", Message: "Pod ns/a: is a"}},
		{
			"the more important word counts", waiting(inventory.PhaseReady, wait("a", "Updating", "", 0), wait("b", "Failing", "", 0)),
			health.Condition{Reason: "Failing", Message: "Pod ns/b: is b"},
		},
		{"a guard counts more than scaling", waiting(inventory.PhaseReady, wait("a", "Scaling", "", 0), wait("b", "Blocked", "", 0)), health.Condition{Reason: "Blocked", Message: "Pod ns/b: is b"}},
		{"an unknown word counts least", waiting(inventory.PhaseReady, wait("a", "Odd", "", 0), wait("b", "TaskPending", "", 0)), health.Condition{Reason: "TaskPending", Message: "Pod ns/b: is b"}},
		{
			"before the grace period is over", waiting(inventory.PhaseReady, wait("a", "Scaling", status.GradeDown, 3*time.Minute), wait("b", "Scaling", "", 2*time.Minute)),
			health.Condition{Reason: "Scaling", Message: "Pod ns/a: is a; Pod ns/b: is b", Wake: time.Minute},
		},
		{"the period has just begun", unsince, health.Condition{Reason: "Scaling", Message: "Pod ns/a: is a", Wake: time.Second}},
		{
			"one is degraded, one down", waiting(inventory.PhaseReady, wait("a", "Scaling", status.GradeDegraded, time.Minute), wait("b", "Scaling", status.GradeDown, time.Second)),
			health.Condition{Reason: "Down", Message: "component is down: Pod ns/b: is b"},
		},
		{
			"a grade counts more than a failure", waiting(inventory.PhaseReady, wait("a", "Failing", "", 0), wait("b", "Scaling", status.GradeDegraded, time.Second)),
			health.Condition{Reason: "Degraded", Message: "component is degraded: Pod ns/b: is b"},
		},
		{"does its job", waiting(inventory.PhaseReady, wait("a", "Updating", status.GradeHealthy, time.Second)), health.Condition{Reason: "Updating", Message: "Pod ns/a: is a"}},
		{
			"nobody knows how well", waiting(inventory.PhaseReady, wait("a", "Updating", "", time.Second)),
			health.Condition{Reason: "Degraded", Message: "component is degraded: Pod ns/a: is a"},
		},
	} {
		got, known := health.Of(tc.facts)
		if diff := cmp.Diff(tc.want, got); diff != "" || !known {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
	if _, known := health.Of(health.Facts{Outcome: outcomes.Paused}); known {
		t.Error("a paused component says what it said before")
	}
}
