// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package hpa

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// rule interprets the conditions of a HorizontalPodAutoscaler.
var rule = handlers.Rule{Works: string(autoscalingv2.ScalingActive), Fails: []string{string(autoscalingv2.AbleToScale), string(autoscalingv2.ScalingActive)}}

// DefaultConvergingStatusHandler returns the progress of a HorizontalPodAutoscaler: OperationFailing if AbleToScale or
// ScalingActive is False, Operational if ScalingActive is True, and OperationPending otherwise.
func DefaultConvergingStatusHandler(_ concepts.ConvergingOperation, hpa *autoscalingv2.HorizontalPodAutoscaler) (concepts.OperationalStatusWithReason, error) {
	found := make([]metav1.Condition, 0, len(hpa.Status.Conditions))
	for _, c := range hpa.Status.Conditions {
		found = append(found, metav1.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return rule.Operational(found), nil
}
