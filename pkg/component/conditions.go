// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/component/internal/texts"
)

// verdict is what is said about a component.
type verdict struct {
	state   State
	reason  string
	message string
	// retried means that the state is an error that may go away without anybody's doing.
	retried bool
}

// polarity lists the status of each condition for each state. Suspension is the one case in which Pending does not mean
// that anything goes on.
var polarity = map[State]map[ConditionType]ConditionStatus{
	StateReady:           {ConditionTypeReady: ConditionTrue, ConditionTypeReconciling: ConditionFalse, ConditionTypeStalled: ConditionFalse},
	StatePending:         {ConditionTypeReady: ConditionUnknown, ConditionTypeReconciling: ConditionTrue, ConditionTypeStalled: ConditionFalse},
	StateProcessing:      {ConditionTypeReady: ConditionUnknown, ConditionTypeReconciling: ConditionTrue, ConditionTypeStalled: ConditionFalse},
	StateDeletionPending: {ConditionTypeReady: ConditionUnknown, ConditionTypeReconciling: ConditionTrue, ConditionTypeStalled: ConditionFalse},
	StateDeleting:        {ConditionTypeReady: ConditionUnknown, ConditionTypeReconciling: ConditionTrue, ConditionTypeStalled: ConditionFalse},
	StateError:           {ConditionTypeReady: ConditionFalse, ConditionTypeReconciling: ConditionFalse, ConditionTypeStalled: ConditionTrue},
}

// statusOf is the polarity of one condition. A retry that has timed out is stalled as well, although it stays Pending; an error
// that is being retried is not, as long as there is time left.
func (v verdict) statusOf(name ConditionType) ConditionStatus {
	status, known := polarity[v.state][name]
	switch {
	case !known:
		return ConditionUnknown
	case v.retried && v.reason != ReadyConditionReasonTimeout && name == ConditionTypeReconciling:
		return ConditionTrue
	case v.retried && v.reason != ReadyConditionReasonTimeout && name == ConditionTypeStalled:
		return ConditionFalse
	case name == ConditionTypeReconciling && slices.Contains([]string{ReadyConditionReasonSuspended, ReadyConditionReasonTimeout}, v.reason):
		return ConditionFalse
	case name == ConditionTypeStalled && v.reason == ReadyConditionReasonTimeout:
		return ConditionTrue
	default:
		return status
	}
}

// setState is the only place where state and conditions are set.
func (s *Status) setState(v verdict, now metav1.Time) {
	s.State = v.state
	message := texts.Bound(v.message)
	for _, name := range []ConditionType{ConditionTypeReady, ConditionTypeReconciling, ConditionTypeStalled} {
		condition := s.condition(name)
		if condition == nil {
			s.Conditions = append(s.Conditions, Condition{Type: name})
			condition = &s.Conditions[len(s.Conditions)-1]
		}
		if status := v.statusOf(name); condition.Status != status || condition.LastTransitionTime == nil {
			condition.Status = status
			condition.LastTransitionTime = &now
		}
		condition.Reason = v.reason
		condition.ObservedGeneration = max(s.ObservedGeneration, 0)
		condition.Message = ""
		if name == ConditionTypeReady || condition.Status == ConditionTrue {
			condition.Message = message
		}
	}
}
