// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package outcomes_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
)

func healthItem(name string, phase inventory.Phase) *inventory.Item {
	return &inventory.Item{TypeVersionInfo: inventory.TypeVersionInfo{Version: "v1", Kind: "Pod"}, NameInfo: inventory.NameInfo{Namespace: "ns", Name: name}, Phase: phase}
}

// wait is a notice about an object.
func wait(name, reason string, grade status.Grade, grace time.Duration) inventory.Notice {
	return inventory.Notice{Object: healthItem(name, ""), Message: "is " + name, Reason: reason, Grade: grade, Grace: grace}
}

func TestCondition(t *testing.T) {
	t.Parallel()
	now := time.Now()
	waiting := func(phase inventory.Phase, notices ...inventory.Notice) outcomes.HealthFacts {
		return outcomes.HealthFacts{
			Outcome: outcomes.Progressing, Message: "message", Waits: notices, Since: now.Add(-time.Minute), Now: now,
			Inventory: []*inventory.Item{healthItem("a", phase), healthItem("b", phase)},
		}
	}
	failed := waiting(inventory.PhaseReady, wait("a", "", "", 0))
	failed.Outcome, failed.Failures = outcomes.Failed, failed.Waits
	unsince := waiting(inventory.PhaseReady, wait("a", "Scaling", status.GradeDown, time.Second))
	unsince.Since = time.Time{}
	for _, tc := range []struct {
		reason string
		facts  outcomes.HealthFacts
		want   outcomes.HealthCondition
	}{
		{"ready", outcomes.HealthFacts{Outcome: outcomes.Ready, Message: "ready"}, outcomes.HealthCondition{Healthy: true, Reason: "Healthy", Message: "ready"}},
		{"deletions are held, but all is ready", outcomes.HealthFacts{Outcome: outcomes.Held}, outcomes.HealthCondition{Healthy: true, Reason: "Healthy"}},
		{"suspended", outcomes.HealthFacts{Outcome: outcomes.Suspended}, outcomes.HealthCondition{Healthy: true, Reason: "Suspended"}},
		{"archived", outcomes.HealthFacts{Outcome: outcomes.Archived}, outcomes.HealthCondition{Healthy: true, Reason: "Archived"}},
		{"being deleted", outcomes.HealthFacts{Outcome: outcomes.Deleting}, outcomes.HealthCondition{Reason: "Deleting"}},
		{"its deletion is blocked", outcomes.HealthFacts{Outcome: outcomes.Blocked}, outcomes.HealthCondition{Reason: "Deleting"}},
		{"a reference is missing", outcomes.HealthFacts{Outcome: outcomes.Retriable, Message: "no Secret"}, outcomes.HealthCondition{Reason: "Blocked", Message: "no Secret"}},
		{"refused", outcomes.HealthFacts{Outcome: outcomes.Refused}, outcomes.HealthCondition{Reason: "Error"}},
		{"an error", outcomes.HealthFacts{Outcome: outcomes.Error}, outcomes.HealthCondition{Reason: "Error"}},
		{"nothing to wait for by name", waiting(""), outcomes.HealthCondition{Reason: "OperationPending", Message: "message"}},
		{"the word of the judge", waiting(inventory.PhaseReady, wait("a", "TaskRunning", "", 0)), outcomes.HealthCondition{Reason: "TaskRunning", Message: "Pod ns/a: is a"}},
		{"a judge without words, created", waiting(inventory.PhaseCreating, wait("a", "", "", 0)), outcomes.HealthCondition{Reason: "Creating", Message: "Pod ns/a: is a"}},
		{"a judge without words, updated", waiting(inventory.PhaseUpdating, wait("a", "", "", 0)), outcomes.HealthCondition{Reason: "Updating", Message: "Pod ns/a: is a"}},
		{"a judge without words, was ready", waiting(inventory.PhaseReady, wait("a", "", "", 0)), outcomes.HealthCondition{Reason: "OperationPending", Message: "Pod ns/a: is a"}},
		{"a judge without words, failed", failed, outcomes.HealthCondition{Reason: "OperationFailing", Message: "Pod ns/a: is a"}},
		{"was ready before", waiting(inventory.PhaseReady, wait("a", "Creating", "", 0)), outcomes.HealthCondition{Reason: "Scaling", Message: "Pod ns/a: is a"}},
		{"was just created", waiting(inventory.PhaseCreating, wait("a", "Scaling", "", 0)), outcomes.HealthCondition{Reason: "Creating", Message: "Pod ns/a: is a"}},
		{"was just updated", waiting(inventory.PhaseUpdating, wait("a", "Scaling", "", 0)), outcomes.HealthCondition{Reason: "Updating", Message: "Pod ns/a: is a"}},
		{
			"the more important word counts", waiting(inventory.PhaseReady, wait("a", "Updating", "", 0), wait("b", "Failing", "", 0)),
			outcomes.HealthCondition{Reason: "Failing", Message: "Pod ns/b: is b"},
		},
		{"a guard counts more than scaling", waiting(inventory.PhaseReady, wait("a", "Scaling", "", 0), wait("b", "Blocked", "", 0)), outcomes.HealthCondition{Reason: "Blocked", Message: "Pod ns/b: is b"}},
		{"an unknown word counts least", waiting(inventory.PhaseReady, wait("a", "Odd", "", 0), wait("b", "TaskPending", "", 0)), outcomes.HealthCondition{Reason: "TaskPending", Message: "Pod ns/b: is b"}},
		{
			"before the grace period is over", waiting(inventory.PhaseReady, wait("a", "Scaling", status.GradeDown, 3*time.Minute), wait("b", "Scaling", "", 2*time.Minute)),
			outcomes.HealthCondition{Reason: "Scaling", Message: "Pod ns/a: is a; Pod ns/b: is b", Wake: time.Minute},
		},
		{"the period has just begun", unsince, outcomes.HealthCondition{Reason: "Scaling", Message: "Pod ns/a: is a", Wake: time.Second}},
		{
			"one is degraded, one down", waiting(inventory.PhaseReady, wait("a", "Scaling", status.GradeDegraded, time.Minute), wait("b", "Scaling", status.GradeDown, time.Second)),
			outcomes.HealthCondition{Reason: "Down", Message: "component is down: Pod ns/b: is b"},
		},
		{
			"a grade counts more than a failure", waiting(inventory.PhaseReady, wait("a", "Failing", "", 0), wait("b", "Scaling", status.GradeDegraded, time.Second)),
			outcomes.HealthCondition{Reason: "Degraded", Message: "component is degraded: Pod ns/b: is b"},
		},
		{"does its job", waiting(inventory.PhaseReady, wait("a", "Updating", status.GradeHealthy, time.Second)), outcomes.HealthCondition{Reason: "Updating", Message: "Pod ns/a: is a"}},
		{
			"nobody knows how well", waiting(inventory.PhaseReady, wait("a", "Updating", "", time.Second)),
			outcomes.HealthCondition{Reason: "Degraded", Message: "component is degraded: Pod ns/a: is a"},
		},
	} {
		got, known := outcomes.HealthOf(tc.facts)
		if diff := cmp.Diff(tc.want, got); diff != "" || !known {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
	if _, known := outcomes.HealthOf(outcomes.HealthFacts{Outcome: outcomes.Paused}); known {
		t.Error("a paused component says what it said before")
	}
}
