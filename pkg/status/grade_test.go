// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/component-operator/runtime/pkg/status"
)

func TestGrades(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, object string
		status         status.Status
		grade          status.Grade
	}{
		{"what is current is healthy", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`, status.CurrentStatus, status.GradeHealthy},
		{"what has failed is down", `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Lost}}`, status.FailedStatus, status.GradeDown},
		{"what is in progress need not be either", `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`, status.InProgressStatus, ""},
		{"an update keeps enough pods", `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 3},
			status: {observedGeneration: 2, replicas: 4, updatedReplicas: 1, availableReplicas: 3, readyReplicas: 3}}`, status.InProgressStatus, status.GradeHealthy},
		{"some pods are ready", `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, spec: {replicas: 3},
			status: {observedGeneration: 1, replicas: 3, updatedReplicas: 3, availableReplicas: 1, readyReplicas: 1}}`, status.InProgressStatus, status.GradeDegraded},
		{
			"a DaemonSet", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, spec: {}, status: {observedGeneration: 1, desiredNumberScheduled: 2, numberReady: 1}}`,
			status.InProgressStatus, status.GradeDegraded,
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			got := status.NewAnalyzer(reconcilerName, status.Options{}).Judge(parse(t, row.object))
			if got.Status != row.status || got.Health() != row.grade {
				t.Errorf("got %s, %q (%s), want %s, %q", got.Status, got.Health(), got.Message, row.status, row.grade)
			}
		})
	}
}

// TestAutoscalers are ready even if they cannot scale: that must not hold back waves.
func TestAutoscalers(t *testing.T) {
	t.Parallel()
	const v2 = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, status: {conditions: ["
	for _, row := range []struct {
		reason, object, message string
		grade                   status.Grade
	}{
		{"it has not been looked at", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler}`, "ready", status.GradeHealthy},
		{
			"its target does not exist", v2 + `{type: AbleToScale, status: "False", reason: FailedGetScale, message: not found}]}}`,
			"cannot scale: AbleToScale is False (FailedGetScale)", status.GradeDegraded,
		},
		{
			"there are no metrics", v2 + `{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: no metrics}]}}`,
			"cannot scale: ScalingActive is False (FailedGetResourceMetric)", status.GradeDegraded,
		},
		{"its target is scaled to zero", v2 + `{type: ScalingActive, status: "False", reason: ScalingDisabled}]}}`, "ready", status.GradeHealthy},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			got := status.NewAnalyzer(reconcilerName, status.Options{}).Judge(parse(t, row.object))
			if got.Status != status.CurrentStatus || got.Health() != row.grade || got.Message != row.message {
				t.Errorf("got %+v, want %q, %q", got, row.grade, row.message)
			}
		})
	}
}
