// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package handlers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

// Condition is what the conditions of all kinds have in common.
type Condition struct {
	Type            string
	Status          corev1.ConditionStatus
	Reason, Message string
}

// Rule says what conditions mean.
type Rule struct {
	// Works is the condition that is True if the object works.
	Works string
	// Fails are the conditions that are False if the object will not work without intervention. The first one that is
	// False is the reason.
	Fails []string
}

// Operational returns what the rule says about the conditions: OperationFailing, Operational, or otherwise
// OperationPending.
func (r Rule) Operational(conditions []Condition) concepts.OperationalStatusWithReason {
	for _, name := range r.Fails {
		if c := find(conditions, name); c.Status == corev1.ConditionFalse {
			return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusFailing, Reason: Text(name+" is False", Text(c.Reason, c.Message))}
		}
	}
	if find(conditions, r.Works).Status == corev1.ConditionTrue {
		return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusOperational, Reason: r.Works + " is True"}
	}
	return concepts.OperationalStatusWithReason{Status: concepts.OperationalStatusPending, Reason: "Waiting for " + r.Works + " to be True"}
}

// find returns the condition of a type; the zero value if there is none.
func find(conditions []Condition, name string) Condition {
	if i := slices.IndexFunc(conditions, func(c Condition) bool { return c.Type == name }); i >= 0 {
		return conditions[i]
	}
	return Condition{Type: name}
}

// Text returns reason and message of a condition in one. Each of them may be empty.
func Text(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}
