// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/generator"
)

// verdict is what the status says about a component.
type verdict struct {
	state   State
	reason  string
	message string
	// retried means that the error may go away without a change by the user.
	retried bool
	// next is the delay until the next attempt after a failure; zero if that is not known, or if there is none.
	next time.Duration
}

// polarity has the status of each condition for each state. A component that is suspended, paused or archived, or waits
// for an approval, is Pending, but does not progress.
var polarity = map[State]map[ConditionType]ConditionStatus{
	StateReady:           {ConditionTypeReady: ConditionTrue, ConditionTypeReconciling: ConditionFalse, ConditionTypeStalled: ConditionFalse},
	StatePending:         {ConditionTypeReady: ConditionUnknown, ConditionTypeReconciling: ConditionTrue, ConditionTypeStalled: ConditionFalse},
	StateProcessing:      {ConditionTypeReady: ConditionUnknown, ConditionTypeReconciling: ConditionTrue, ConditionTypeStalled: ConditionFalse},
	StateDeletionPending: {ConditionTypeReady: ConditionUnknown, ConditionTypeReconciling: ConditionTrue, ConditionTypeStalled: ConditionFalse},
	StateDeleting:        {ConditionTypeReady: ConditionUnknown, ConditionTypeReconciling: ConditionTrue, ConditionTypeStalled: ConditionFalse},
	StateError:           {ConditionTypeReady: ConditionFalse, ConditionTypeReconciling: ConditionFalse, ConditionTypeStalled: ConditionTrue},
}

// idle are the reasons of components that do not progress although they are Pending or Processing.
var idle = []string{
	ReadyConditionReasonSuspended, ReadyConditionReasonPaused, ReadyConditionReasonArchived, ReadyConditionReasonDeletionsHeld, ReadyConditionReasonTimeout,
}

// statusOf returns the status of one condition. An error that is being retried does not count as stalled until the
// timeout.
func (v verdict) statusOf(name ConditionType) ConditionStatus {
	status, known := polarity[v.state][name]
	switch {
	case !known:
		return ConditionUnknown
	case v.retried && v.reason != ReadyConditionReasonTimeout && name == ConditionTypeReconciling:
		return ConditionTrue
	case v.retried && v.reason != ReadyConditionReasonTimeout && name == ConditionTypeStalled:
		return ConditionFalse
	case name == ConditionTypeReconciling && slices.Contains(idle, v.reason):
		return ConditionFalse
	default:
		return status
	}
}

// healthCondition returns the type of the condition that the generator names for the health of the dependents; empty if
// it names none.
func (w *worker) healthCondition() ConditionType {
	if conditioned, ok := w.generator.(generator.Conditioned); ok {
		return ConditionType(conditioned.Condition())
	}
	return ""
}

// checkCondition refuses a condition that the generator names and that cannot be, or that the reconciler has itself.
func checkCondition(resourceGenerator generator.Generator) error {
	conditioned, ok := resourceGenerator.(generator.Conditioned)
	if !ok {
		return nil
	}
	switch name := ConditionType(conditioned.Condition()); name {
	case "":
		return nil
	case ConditionTypeReady, ConditionTypeReconciling, ConditionTypeStalled:
		return fmt.Errorf("the generator names the condition %q, which the reconciler already has; must be a name other than %s, %s and %s",
			name, ConditionTypeReady, ConditionTypeReconciling, ConditionTypeStalled)
	default:
		if messages := validation.IsQualifiedName(string(name)); len(messages) > 0 {
			return fmt.Errorf("the generator names the condition %q: %s", name, strings.Join(messages, "; "))
		}
		return nil
	}
}

// setHealth sets the condition that says how well the dependents do their job.
func (s *Status) setHealth(name ConditionType, h outcomes.HealthCondition, now metav1.Time) {
	status := ConditionFalse
	if h.Healthy {
		status = ConditionTrue
	}
	condition := s.change(name, status, now)
	condition.Reason, condition.Message = h.Reason, outcomes.Bound(h.Message)
}

// change returns the condition, which it adds if it is missing, with the given status.
func (s *Status) change(name ConditionType, status ConditionStatus, now metav1.Time) *Condition {
	condition := s.condition(name)
	if condition == nil {
		s.Conditions = append(s.Conditions, Condition{Type: name})
		condition = &s.Conditions[len(s.Conditions)-1]
	}
	if condition.Status != status || condition.LastTransitionTime == nil {
		condition.Status = status
		condition.LastTransitionTime = &now
	}
	condition.ObservedGeneration = max(s.ObservedGeneration, 0)
	return condition
}

// SetCondition adds or changes a condition, for hooks. Its transition time changes with its status. The conditions
// Ready, Reconciling and Stalled are the reconciler's own: it sets them again.
func (s *Status) SetCondition(name ConditionType, status ConditionStatus, reason, message string, now metav1.Time) {
	condition := s.change(name, status, now)
	condition.Reason, condition.Message = reason, outcomes.Bound(message)
}

// GetCondition returns a copy of a condition, and reports whether there is one of that type.
func (s *Status) GetCondition(name ConditionType) (Condition, bool) {
	if condition := s.condition(name); condition != nil {
		return *condition, true
	}
	return Condition{}, false
}

// RemoveCondition removes a condition, if there is one of that type.
func (s *Status) RemoveCondition(name ConditionType) {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(condition Condition) bool { return condition.Type == name })
}
