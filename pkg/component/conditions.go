// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/redact"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// maxMessageLength bounds messages of conditions, in bytes. They are repeated in events, whose limit is 1 KiB.
const maxMessageLength = 1024

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
	message := boundMessage(v.message)
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

// boundMessage makes a sentence that fits into a condition, and quotes no rejected values.
func boundMessage(message string) string {
	message = redact.Text(strings.ToValidUTF8(message, "?"))
	if first, size := utf8.DecodeRuneInString(message); size > 0 {
		message = string(unicode.ToUpper(first)) + message[size:]
	}
	if len(message) <= maxMessageLength {
		return message
	}
	const ellipsis = "…"
	end := maxMessageLength - len(ellipsis)
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + ellipsis
}

// listLimit leaves room for what stands before and after a list in a message.
const listLimit = maxMessageLength - 160

// joinBounded joins as many items as fit, and counts the others.
func joinBounded(items []string, separator string) string {
	var out strings.Builder
	for i, item := range items {
		if i > 0 && out.Len()+len(separator)+len(item) > listLimit {
			return out.String() + " … and " + strconv.Itoa(len(items)-i) + " more"
		}
		if i > 0 {
			out.WriteString(separator)
		}
		out.WriteString(item)
	}
	return out.String()
}

func nameOf(object types.ObjectKey) string {
	return types.ObjectText(object.GetObjectKind().GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName())
}

func describe(notices []reconciler.Notice) string {
	items := make([]string, len(notices))
	for i, notice := range notices {
		items[i] = nameOf(notice.Object) + ": " + notice.Message
	}
	slices.Sort(items)
	return joinBounded(items, "; ")
}

// describeWaits says which dependents are missing to the end of a wave; what is one of "ready", "deleted".
func describeWaits(result reconciler.Result, what string) string {
	if len(result.Waits) == 0 {
		return fmt.Sprintf("wave %d is being processed", result.Wave)
	}
	// Waits may be about more than the wave, such as a namespace or what is no longer wanted.
	size := max(result.WaveSize, len(result.Waits))
	return fmt.Sprintf("%d of %s of wave %d not %s: %s", len(result.Waits), dependents(size), result.Wave, what, describe(result.Waits))
}

// dependents formats a number of dependents.
func dependents(count int) string {
	if count == 1 {
		return "1 dependent"
	}
	return strconv.Itoa(count) + " dependents"
}
