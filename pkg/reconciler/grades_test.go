// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"cmp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// degraded is an autoscaler without a target, and a ConfigMap in a later wave.
const degraded = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: missing}
  maxReplicas: 2
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {PREFIX/apply-order: "1"}}
`

func isDegraded(r reconciler.Result) (bool, string) {
	return len(r.Unhealthy) == 1, "nothing is unhealthy"
}

// TestGradesOfDependents: an autoscaler that cannot scale is reported, which its own controller says later. It is ready nevertheless.
func TestGradesOfDependents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mustApply(degraded)
	w.expectInventory("HorizontalPodAutoscaler web Ready Current", "ConfigMap after Ready Current")
	result := w.settle(degraded, isDegraded)
	got := result.Unhealthy[0]
	if !result.Done || got.Grade != status.GradeDegraded || text(got.Object) != "HorizontalPodAutoscaler web" || !strings.HasPrefix(got.Message, "cannot scale: AbleToScale is False (FailedGetScale)") {
		t.Errorf("unexpected result: done %v, %+v", result.Done, got)
	}
	w.settle(degraded, isDegraded)
	w.heir().settle(degraded, isDegraded)
}

// gradingJudge finds all objects ready, and grades them by an annotation.
type gradingJudge struct{}

func (gradingJudge) Rules() string { return "by annotation" }

func (gradingJudge) Judge(object *unstructured.Unstructured) status.Result {
	value := cmp.Or(object.GetAnnotations()["grade"], string(status.GradeHealthy))
	return status.Result{Status: status.CurrentStatus, Grade: status.Grade(value), Message: "is " + value}
}

// TestGradesOfAJudge: a change of the grade alone wakes the owner. The generation tells that nothing else has changed.
func TestGradesOfAJudge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.judge = gradingJudge{}
	const manifest = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}}}"
	if result := w.mustApply(manifest); len(result.Unhealthy) > 0 {
		t.Errorf("want no unhealthy dependents, got %v", result.Unhealthy)
	}
	for _, grade := range []status.Grade{status.GradeDown, status.GradeDegraded} {
		w.quiesce()
		w.patch(w.get("networking.k8s.io/v1", "NetworkPolicy", "a"), `{"metadata":{"annotations":{"grade":"`+string(grade)+`"}}}`)
		w.awaitEvent()
		w.settle(manifest, func(r reconciler.Result) (bool, string) {
			return r.Done && len(r.Unhealthy) == 1 && r.Unhealthy[0].Grade == grade && r.Unhealthy[0].Message == "is "+string(grade), "not seen"
		})
	}
}
