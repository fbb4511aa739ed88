// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/status"
)

func TestPodFindings(t *testing.T) {
	t.Parallel()
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	terminated := func(code, signal int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Signal: signal, Reason: reason}}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	main := func(container corev1.ContainerStatus) corev1.PodStatus {
		container.Name, container.Image = "main", "demo:1"
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{container}}
	}
	for _, test := range []struct {
		reason string
		status corev1.PodStatus
		gates  []corev1.PodReadinessGate
		want   []string
	}{
		{
			reason: "an eviction is a matter of the pod",
			status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."},
			want:   []string{"Evicted: The node was low on resource: memory."},
		},
		{
			reason: "an image that the message does not name is named",
			status: main(corev1.ContainerStatus{State: waiting("ErrImagePull", "not found")}),
			want:   []string{"container main: ErrImagePull of demo:1: not found"},
		},
		{
			reason: "a crash loop shows the run before",
			status: main(corev1.ContainerStatus{RestartCount: 1, State: waiting("CrashLoopBackOff", "back-off"), LastTerminationState: terminated(2, 0, "Error")}),
			want:   []string{"container main: CrashLoopBackOff, restarted once; exited with code 2 [main, previous]"},
		},
		{
			reason: "between two crashes a container runs",
			status: main(corev1.ContainerStatus{RestartCount: 3, State: running, LastTerminationState: terminated(0, 9, "OOMKilled")}),
			want:   []string{"container main: running, but not ready; restarted 3 times; before the last restart it was killed by signal 9 (OOMKilled) [main, previous]"},
		},
		{
			reason: "a container that is not started again has its log in its present run",
			status: main(corev1.ContainerStatus{State: terminated(1, 0, "Error")}),
			want:   []string{"container main: exited with code 1 [main]"},
		},
		{
			reason: "a container that has ended as it should is no reason",
			status: main(corev1.ContainerStatus{State: terminated(0, 0, "Completed")}),
		},
		{
			reason: "what has not begun says little",
			status: main(corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			want:   []string{"container main: not started yet: ContainerCreating [vague]"},
		},
		{
			reason: "an init container keeps the others from starting",
			status: corev1.PodStatus{
				InitContainerStatuses: []corev1.ContainerStatus{{Name: "migrate", State: terminated(3, 0, "Error")}},
				ContainerStatuses:     []corev1.ContainerStatus{{Name: "main", State: waiting("PodInitializing", "")}},
			},
			want: []string{"init container migrate: exited with code 3 [migrate]", "container main: not started yet: PodInitializing [vague]"},
		},
		{
			reason: "gates that are closed, or that nobody has looked at",
			status: corev1.PodStatus{Conditions: []corev1.PodCondition{
				{Type: "example.io/closed", Status: corev1.ConditionFalse, Message: "not registered"},
				{Type: "example.io/open", Status: corev1.ConditionTrue},
			}},
			gates: []corev1.PodReadinessGate{{ConditionType: "example.io/closed"}, {ConditionType: "example.io/open"}, {ConditionType: "example.io/new"}},
			want:  []string{"readiness gate example.io/closed is not True: not registered", "readiness gate example.io/new is not True"},
		},
	} {
		var got []string
		for _, f := range status.PodFindings(&corev1.Pod{Spec: corev1.PodSpec{ReadinessGates: test.gates}, Status: test.status}) {
			text := f.Text
			switch {
			case f.Vague:
				text += " [vague]"
			case f.Previous:
				text += " [" + f.Crashed + ", previous]"
			case f.Crashed != "":
				text += " [" + f.Crashed + "]"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}
