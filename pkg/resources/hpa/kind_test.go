// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package hpa

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

func with(conditions ...autoscalingv2.HorizontalPodAutoscalerCondition) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: conditions}}
}

type state = resourcestest.State[*autoscalingv2.HorizontalPodAutoscaler, concepts.OperationalStatusWithReason]

// row returns a row whose reasons are equal.
func row(why string, hpa *autoscalingv2.HorizontalPodAutoscaler, status concepts.OperationalStatus, grace concepts.GraceStatus, reason string) state {
	return state{Why: why, Object: hpa, Status: resourcestest.Operational(status, reason), Grace: resourcestest.Grace(grace, reason)}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	const works, waits, fails = concepts.OperationalStatusOperational, concepts.OperationalStatusPending, concepts.OperationalStatusFailing
	able := autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ReadyForNewScale"}
	unable := autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionFalse, Reason: "FailedGetScale", Message: "no such deployment"}
	active := autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound"}
	inactive := autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "FailedGetResourceMetric"}
	unknown := autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionUnknown}
	limited := autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.ScalingLimited, Status: corev1.ConditionTrue, Reason: "TooFewReplicas"}

	resourcestest.CheckStates(t, NewBuilder(sample()), []state{
		row("nothing is known yet", with(), waits, concepts.GraceStatusDegraded, "Waiting for ScalingActive to be True"),
		row("there are no metrics yet", with(able), waits, concepts.GraceStatusDegraded, "Waiting for ScalingActive to be True"),
		row("it is not known whether it scales", with(able, unknown), waits, concepts.GraceStatusDegraded, "Waiting for ScalingActive to be True"),
		row("it scales", with(able, active), works, concepts.GraceStatusHealthy, "ScalingActive is True"),
		row("it is at its limit", with(able, active, limited), works, concepts.GraceStatusHealthy, "ScalingActive is True"),
		row("there are no metrics", with(able, inactive), fails, concepts.GraceStatusDown, "ScalingActive is False: FailedGetResourceMetric"),
		row("there is nothing to scale", with(active, unable), fails, concepts.GraceStatusDown, "AbleToScale is False: FailedGetScale: no such deployment"),
		row("of two failures, the deeper one counts", with(inactive, unable), fails, concepts.GraceStatusDown, "AbleToScale is False: FailedGetScale: no such deployment"),
	})
	resourcestest.CheckSuspension(t, NewBuilder(sample()), resourcestest.Suspension[*autoscalingv2.HorizontalPodAutoscaler]{
		Deletes: true, States: []resourcestest.SuspensionState[*autoscalingv2.HorizontalPodAutoscaler]{
			{Why: "it is deleted, so that it does not undo scaling to zero", Object: with(able, active), Want: resourcestest.Suspended("")},
		},
	})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("autoscaler spec", m.EditHPASpec))
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "autoscaling/v2/HorizontalPodAutoscaler/default/sample")
}
