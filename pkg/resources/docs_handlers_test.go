// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/replicaset"
)

// numbers are what the handlers of Deployments and ReplicaSets look at.
type numbers struct {
	unobserved, unset, paused         bool
	desired, ready, updated, existing int32
	condition, reason                 string
}

func (n numbers) spec() *int32 {
	if n.unset {
		return nil
	}
	return &n.desired
}

func (n numbers) generations() (generation, observed int64) {
	if n.unobserved {
		return 2, 1
	}
	return 2, 2
}

func (n numbers) conditionStatus() corev1.ConditionStatus {
	if n.condition == string(appsv1.DeploymentProgressing) {
		return corev1.ConditionFalse
	}
	return corev1.ConditionTrue
}

func (n numbers) deployment() *appsv1.Deployment {
	generation, observed := n.generations()
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: generation},
		Spec:       appsv1.DeploymentSpec{Replicas: n.spec(), Paused: n.paused},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: observed, Replicas: n.existing, ReadyReplicas: n.ready, UpdatedReplicas: n.updated,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentConditionType(n.condition), Status: n.conditionStatus(), Reason: n.reason}},
		},
	}
}

func (n numbers) replicaSet() *appsv1.ReplicaSet {
	generation, observed := n.generations()
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Generation: generation},
		Spec:       appsv1.ReplicaSetSpec{Replicas: n.spec()},
		Status: appsv1.ReplicaSetStatus{
			ObservedGeneration: observed, Replicas: n.existing, ReadyReplicas: n.ready,
			Conditions: []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetConditionType(n.condition), Status: n.conditionStatus(), Reason: n.reason}},
		},
	}
}

// simple are the handlers that go by the number of ready replicas alone.
type simple struct{ numbers }

func (s simple) converging(op concepts.ConvergingOperation) concepts.AliveConvergingStatus {
	desired := s.desired
	if s.unset {
		desired = 1
	}
	switch {
	case s.unobserved && op != concepts.ConvergingOperationCreated:
		return concepts.AliveConvergingStatusUpdating
	case !s.unobserved && s.ready == desired:
		return concepts.AliveConvergingStatusHealthy
	case op == concepts.ConvergingOperationCreated:
		return concepts.AliveConvergingStatusCreating
	case op == concepts.ConvergingOperationUpdated:
		return concepts.AliveConvergingStatusUpdating
	default:
		return concepts.AliveConvergingStatusScaling
	}
}

func (s simple) grace() concepts.GraceStatus {
	switch s.ready {
	case s.desired:
		return concepts.GraceStatusHealthy
	case 0:
		return concepts.GraceStatusDown
	default:
		return concepts.GraceStatusDegraded
	}
}

func (s simple) suspension() concepts.SuspensionStatus {
	if s.existing == 0 {
		return concepts.SuspensionStatusSuspended
	}
	return concepts.SuspensionStatusSuspending
}

// answers are those of a handler, after each operation, of each kind that is asked.
func answers[S ~string](each ...S) string {
	texts := make([]string, 0, len(each))
	for _, answer := range each {
		texts = append(texts, "`"+string(answer)+"`")
	}
	if len(slices.Compact(slices.Clone(texts))) == 1 {
		return texts[0]
	}
	return strings.Join(texts, ", ")
}

const (
	rollout = "a"
	stuck   = "b"
	stale   = "c"
)

// handlersTable compares the handlers of Deployments and ReplicaSets with simple ones. Rows that differ have a reason, and others have none.
func handlersTable(tb testing.TB) string {
	tb.Helper()
	const both, onlyDeployment = "", "Deployment: "
	operations := []concepts.ConvergingOperation{concepts.ConvergingOperationCreated, concepts.ConvergingOperationUpdated, concepts.ConvergingOperationNone}
	table := [][]string{{"Handler", "Input", "By ready replicas alone", "Here", "Why"}}
	add := func(handler, input, simple, here, why string) {
		if (simple != here) != (why != "") {
			tb.Errorf("%s, %s: %s and %s, but the reason is %q", handler, input, simple, here, why)
		}
		table = append(table, []string{handler, input, simple, here, why})
	}
	for _, row := range []struct {
		kind, input string
		numbers
		why string
	}{
		{both, "the controller has not observed the spec", numbers{unobserved: true, desired: 3, ready: 3, updated: 3, existing: 3}, ""},
		{both, "3 of 3 replicas are ready, and no others are left", numbers{desired: 3, ready: 3, updated: 3, existing: 3}, ""},
		{both, "`spec.replicas` is not set, 1 is ready", numbers{unset: true, ready: 1, updated: 1, existing: 1}, ""},
		{both, "0 replicas are declared, none exists", numbers{}, ""},
		{both, "1 of 3 is ready", numbers{desired: 3, ready: 1, updated: 3, existing: 3}, ""},
		{both, "4 are ready, 3 are declared", numbers{desired: 3, ready: 4, updated: 3, existing: 4}, ""},
		{onlyDeployment, "3 of 3 are ready, 2 of them are updated", numbers{desired: 3, ready: 3, updated: 2, existing: 3}, rollout},
		{both, "3 of 3 are ready and updated, another one is left", numbers{desired: 3, ready: 3, updated: 3, existing: 4}, rollout},
		{onlyDeployment, "paused, 3 of 3 are ready, 2 of them are updated", numbers{paused: true, desired: 3, ready: 3, updated: 2, existing: 3}, ""},
		{onlyDeployment, "1 of 3 is ready, `Progressing` is False: `ProgressDeadlineExceeded`", numbers{desired: 3, ready: 1, updated: 1, existing: 3, condition: "Progressing", reason: "ProgressDeadlineExceeded"}, stuck},
		{both, "1 of 3 is ready, `ReplicaFailure` is True", numbers{desired: 3, ready: 1, updated: 1, existing: 1, condition: "ReplicaFailure", reason: "FailedCreate"}, stuck},
		{both, "3 of 3 are ready and updated, `ReplicaFailure` is True", numbers{desired: 3, ready: 3, updated: 3, existing: 3, condition: "ReplicaFailure"}, ""},
	} {
		var expected, deployments, replicaSets []concepts.AliveConvergingStatus
		for _, op := range operations {
			ofDeployment, err := deployment.DefaultConvergingStatusHandler(op, row.deployment())
			if err != nil {
				tb.Error(err)
			}
			ofReplicaSet, err := replicaset.DefaultConvergingStatusHandler(op, row.replicaSet())
			if err != nil {
				tb.Error(err)
			}
			expected = append(expected, simple{row.numbers}.converging(op))
			deployments, replicaSets = append(deployments, ofDeployment.Status), append(replicaSets, ofReplicaSet.Status)
		}
		if row.kind == both && !slices.Equal(deployments, replicaSets) {
			tb.Errorf("%s: Deployment %v, ReplicaSet %v", row.input, deployments, replicaSets)
		}
		add("`ConvergingStatus`", row.kind+row.input, answers(expected...), answers(deployments...), row.why)
	}
	for _, row := range []struct {
		input string
		numbers
	}{
		{"3 of 3 are ready", numbers{desired: 3, ready: 3}},
		{"3 of 3 are ready, and the rollout is not complete, or has failed", numbers{desired: 3, ready: 3, updated: 1, existing: 4, condition: "ReplicaFailure"}},
		{"the controller has not observed the spec, 3 of 3 are ready", numbers{unobserved: true, desired: 3, ready: 3}},
		{"1 of 3 is ready", numbers{desired: 3, ready: 1}},
		{"4 are ready, 3 are declared", numbers{desired: 3, ready: 4}},
		{"none of 3 is ready", numbers{desired: 3}},
		{"0 replicas are declared, none exists", numbers{}},
	} {
		ofDeployment, err := deployment.DefaultGraceStatusHandler(row.deployment())
		if err != nil {
			tb.Error(err)
		}
		ofReplicaSet, err := replicaset.DefaultGraceStatusHandler(row.replicaSet())
		if err != nil {
			tb.Error(err)
		}
		add("`GraceStatus`", row.input, answers(simple{row.numbers}.grace()), answers(ofDeployment.Status, ofReplicaSet.Status), "")
	}
	return markdown(append(table, suspensionRows(tb)...)...)
}

func suspensionRows(tb testing.TB) [][]string {
	tb.Helper()
	if deployment.DefaultDeleteOnSuspendHandler(nil) || replicaset.DefaultDeleteOnSuspendHandler(nil) {
		tb.Error("the page says that neither is deleted")
	}
	d, r := &appsv1.Deployment{}, &appsv1.ReplicaSet{}
	ofDeployment, ofReplicaSet := deployment.NewMutator(d), replicaset.NewMutator(r)
	for _, err := range []error{
		deployment.DefaultSuspendMutationHandler(ofDeployment), ofDeployment.Apply(), replicaset.DefaultSuspendMutationHandler(ofReplicaSet), ofReplicaSet.Apply(),
	} {
		if err != nil {
			tb.Error(err)
		}
	}
	if *d.Spec.Replicas != 0 || *r.Spec.Replicas != 0 {
		tb.Error("the page says that the number of replicas is 0")
	}
	rows := [][]string{
		{"`DeleteOnSuspend`", "any", "false", "false", ""},
		{"`SuspendMutation`", "any", "0 replicas", "0 replicas", ""},
	}
	for _, row := range []struct {
		input string
		numbers
		why string
	}{
		{"2 replicas exist", numbers{existing: 2}, ""},
		{"none exists", numbers{}, ""},
		{"none exists, but the controller has not observed the spec", numbers{unobserved: true}, stale},
	} {
		ofDeployment, err := deployment.DefaultSuspensionStatusHandler(row.deployment())
		if err != nil {
			tb.Error(err)
		}
		ofReplicaSet, err := replicaset.DefaultSuspensionStatusHandler(row.replicaSet())
		if err != nil {
			tb.Error(err)
		}
		expected, here := answers(simple{row.numbers}.suspension()), answers(ofDeployment.Status, ofReplicaSet.Status)
		if (expected != here) != (row.why != "") {
			tb.Errorf("%s: %s and %s, but the reason is %q", row.input, expected, here, row.why)
		}
		rows = append(rows, []string{"`SuspensionStatus`", row.input, expected, here, row.why})
	}
	return rows
}
