// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package outcomes

import (
	"slices"
	"time"

	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Reasons that are no statuses of package concepts.
const (
	ReasonError    = "Error"
	ReasonArchived = "Archived"
	ReasonDeleting = "Deleting"
)

// priorities are the reasons for not being healthy, the most important one first.
var priorities = []string{
	ReasonError, string(concepts.GraceStatusDown), string(concepts.GraceStatusDegraded),
	string(concepts.SuspensionStatusPending), string(concepts.SuspensionStatusSuspending),
	string(concepts.AliveConvergingStatusFailing), string(concepts.OperationalStatusFailing), string(concepts.CompletionStatusFailing),
	inventory.NoticeReasonBlocked,
	string(concepts.AliveConvergingStatusScaling), string(concepts.CompletionStatusRunning), string(concepts.AliveConvergingStatusUpdating),
	string(concepts.AliveConvergingStatusCreating), string(concepts.OperationalStatusPending), string(concepts.CompletionStatusPending),
}

// HealthFacts are what a pass has found.
type HealthFacts struct {
	// Outcome is how the pass has ended, and Message what it says.
	Outcome Kind
	Message string
	// Waits and Failures are those of the engine.
	Waits, Failures []inventory.Notice
	// Inventory has the phases of the dependents.
	Inventory []*inventory.Item
	// Since is the time since which the component is not ready, in its present form; zero if it is.
	Since time.Time
	Now   time.Time
}

// HealthCondition is what the condition says.
type HealthCondition struct {
	// Healthy is the status of the condition.
	Healthy         bool
	Reason, Message string
	// Wake is how long it takes until the condition may change by itself; zero if it does not.
	Wake time.Duration
}

// HealthOf returns what the condition says. It reports false if it says what it said before.
func HealthOf(f HealthFacts) (condition HealthCondition, known bool) {
	switch f.Outcome {
	case Ready, Held:
		return HealthCondition{Healthy: true, Reason: string(concepts.GraceStatusHealthy), Message: f.Message}, true
	case Suspended:
		return HealthCondition{Healthy: true, Reason: string(concepts.SuspensionStatusSuspended), Message: f.Message}, true
	case Archived:
		return HealthCondition{Healthy: true, Reason: ReasonArchived, Message: f.Message}, true
	case Deleting, Blocked:
		return HealthCondition{Reason: ReasonDeleting, Message: f.Message}, true
	case Retriable:
		return HealthCondition{Reason: inventory.NoticeReasonBlocked, Message: f.Message}, true
	case Refused, Error:
		return HealthCondition{Reason: ReasonError, Message: f.Message}, true
	case Progressing, Failed:
		return f.unhealthy(), true
	case Continue, Paused, Gone, Abandoned:
	}
	return HealthCondition{}, false
}

// unhealthy weighs the dependents that are not ready. After its grace period, one counts by its grade.
func (f HealthFacts) unhealthy() HealthCondition {
	phases := map[types.ObjectID]inventory.Phase{}
	for _, item := range f.Inventory {
		phases[types.IDOf(item)] = item.Phase
	}
	failed := map[types.ObjectID]bool{}
	for _, notice := range f.Failures {
		failed[types.IDOf(notice.Object)] = true
	}
	worst, wake := "", time.Duration(0)
	notices := map[string][]inventory.Notice{}
	for _, notice := range f.Waits {
		id := types.IDOf(notice.Object)
		reason := reasonOf(notice, phases[id], failed[id])
		if grade, left := f.graded(notice); grade != "" {
			reason = grade
		} else if left > 0 && (wake == 0 || left < wake) {
			wake = left
		}
		notices[reason] = append(notices[reason], notice)
		if worst == "" || rank(reason) < rank(worst) {
			worst = reason
		}
	}
	if worst == "" {
		// The pass waits for something other than a dependent.
		return HealthCondition{Reason: string(concepts.OperationalStatusPending), Message: f.Message}
	}
	return HealthCondition{Reason: worst, Message: messages[worst] + Notices(notices[worst]), Wake: wake}
}

// messages are what messages begin with.
var messages = map[string]string{
	string(concepts.GraceStatusDown):     "component is down: ",
	string(concepts.GraceStatusDegraded): "component is degraded: ",
}

// graded returns the grade of a dependent whose grace period is over; otherwise empty, and how much of the period is
// left. A dependent that does its job is not graded, although it is not ready; one of which that is not known counts as
// degraded.
func (f HealthFacts) graded(notice inventory.Notice) (grade string, left time.Duration) {
	if notice.Grace == 0 {
		return "", 0
	}
	if left = f.since().Add(notice.Grace).Sub(f.Now); left > 0 {
		return "", left
	}
	switch notice.Grade {
	case status.GradeHealthy:
		return "", 0
	case status.GradeDown:
		return string(concepts.GraceStatusDown), 0
	case status.GradeDegraded:
	}
	return string(concepts.GraceStatusDegraded), 0
}

func (f HealthFacts) since() time.Time {
	if f.Since.IsZero() {
		return f.Now
	}
	return f.Since
}

// reasonOf returns why a dependent is not ready. The judge, which sees only the object, does not know whether it was
// ready before; so it may call an object created or scaled that is, in fact, the other.
func reasonOf(notice inventory.Notice, phase inventory.Phase, failed bool) string {
	created, scaling := string(concepts.AliveConvergingStatusCreating), string(concepts.AliveConvergingStatusScaling)
	switch {
	case notice.Reason == created && phase == inventory.PhaseReady:
		return scaling
	case notice.Reason == scaling && phase == inventory.PhaseCreating:
		return created
	case notice.Reason == scaling && phase == inventory.PhaseUpdating:
		return string(concepts.AliveConvergingStatusUpdating)
	case notice.Reason != "":
		return notice.Reason
	case failed:
		return string(concepts.OperationalStatusFailing)
	case phase == inventory.PhaseCreating:
		return created
	case phase == inventory.PhaseUpdating:
		return string(concepts.AliveConvergingStatusUpdating)
	default:
		return string(concepts.OperationalStatusPending)
	}
}

// rank returns the place of a reason among the priorities. Words that are not known count least.
func rank(reason string) int {
	if i := slices.Index(priorities, reason); i >= 0 {
		return i
	}
	return len(priorities)
}
