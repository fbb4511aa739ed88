// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
)

func TestOperational(t *testing.T) {
	t.Parallel()
	rule := Rule{Works: "Active", Fails: []string{"Able", "Active"}}
	on := func(name string, status corev1.ConditionStatus) Condition {
		return Condition{Type: name, Status: status, Reason: "Because", Message: "of " + name}
	}
	for _, row := range []struct {
		why        string
		conditions []Condition
		status     concepts.OperationalStatus
		reason     string
	}{
		{"no conditions", nil, concepts.OperationalStatusPending, "Waiting for Active to be True"},
		{"other conditions", []Condition{on("Ready", corev1.ConditionTrue)}, concepts.OperationalStatusPending, "Waiting for Active to be True"},
		{"not known", []Condition{on("Active", corev1.ConditionUnknown)}, concepts.OperationalStatusPending, "Waiting for Active to be True"},
		{"works", []Condition{on("Active", corev1.ConditionTrue)}, concepts.OperationalStatusOperational, "Active is True"},
		{"a failure that is not known", []Condition{on("Able", corev1.ConditionUnknown), on("Active", corev1.ConditionTrue)}, concepts.OperationalStatusOperational, "Active is True"},
		{"the condition for working can fail as well", []Condition{on("Active", corev1.ConditionFalse)}, concepts.OperationalStatusFailing, "Active is False: Because: of Active"},
		{"a failure counts more", []Condition{on("Active", corev1.ConditionTrue), on("Able", corev1.ConditionFalse)}, concepts.OperationalStatusFailing, "Able is False: Because: of Able"},
		{"the first failure of the rule counts", []Condition{on("Active", corev1.ConditionFalse), on("Able", corev1.ConditionFalse)}, concepts.OperationalStatusFailing, "Able is False: Because: of Able"},
		{"a failure without a reason", []Condition{{Type: "Able", Status: corev1.ConditionFalse}}, concepts.OperationalStatusFailing, "Able is False"},
	} {
		got := rule.Operational(row.conditions)
		if diff := cmp.Diff(concepts.OperationalStatusWithReason{Status: row.status, Reason: row.reason}, got); diff != "" {
			t.Errorf("%s: unexpected status (-want +got):\n%s", row.why, diff)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ why, reason, message, want string }{
		{"both", "QuotaExceeded", "2 of 2 pods", "QuotaExceeded: 2 of 2 pods"},
		{"only a reason", "QuotaExceeded", "", "QuotaExceeded"},
		{"only a message", "", "2 of 2 pods", "2 of 2 pods"},
	} {
		if diff := cmp.Diff(row.want, Text(row.reason, row.message)); diff != "" {
			t.Errorf("%s: unexpected text (-want +got):\n%s", row.why, diff)
		}
	}
}
