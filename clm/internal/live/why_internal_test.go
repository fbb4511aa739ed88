// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/pkg/reconciler"
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
	main := func(status corev1.ContainerStatus) corev1.PodStatus {
		status.Name, status.Image = "main", "demo:1"
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}}
	}
	for _, test := range []struct {
		reason string
		status corev1.PodStatus
		gates  []corev1.PodReadinessGate
		want   []string
	}{
		{reason: "nothing is known yet", status: corev1.PodStatus{}},
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
			reason: "one that it names is not named twice",
			status: main(corev1.ContainerStatus{State: waiting("ErrImagePull", "demo:1: not found")}),
			want:   []string{"container main: ErrImagePull: demo:1: not found"},
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
			reason: "neither is one that is ready",
			status: main(corev1.ContainerStatus{Ready: true, State: running}),
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
		for _, f := range podFindings(&corev1.Pod{Spec: corev1.PodSpec{ReadinessGates: test.gates}, Status: test.status}) {
			text := f.Text
			switch {
			case f.Vague:
				text += " [vague]"
			case f.previous:
				text += " [" + f.crashed + ", previous]"
			case f.crashed != "":
				text += " [" + f.crashed + "]"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestSumUp(t *testing.T) {
	t.Parallel()
	at := func(minute int) metav1.Time {
		return metav1.Time{Time: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)}
	}
	list := []corev1.Event{
		{Reason: "FailedCreate", Message: "pod b is refused", Count: 2, FirstTimestamp: at(1), LastTimestamp: at(9)},
		{Reason: "FailedCreate", Message: "pod a is refused", Count: 3, FirstTimestamp: at(0), LastTimestamp: at(5)},
		{
			Reason: "FailedScheduling", Message: "no node", EventTime: metav1.MicroTime(at(2)),
			Series: &corev1.EventSeries{Count: 5, LastObservedTime: metav1.MicroTime(at(10))},
		},
		{Reason: "BackOff", Message: "Back-off restarting failed container", Count: 90, LastTimestamp: at(11)},
		{Reason: "Failed", Message: "Error: ImagePullBackOff", Count: 90, LastTimestamp: at(11)},
		{Reason: "Unhealthy", Message: "probe failed", ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(3)}},
		{Reason: "Oldest", Message: "beyond what is shown", FirstTimestamp: at(0), LastTimestamp: at(0)},
	}
	want := []dependents.Reason{
		{Source: dependents.SourceEvent, Text: "FailedScheduling: no node", Since: at(2).Time, Count: 5},
		{Source: dependents.SourceEvent, Text: "FailedCreate: pod b is refused", Since: at(0).Time, Count: 5},
		{Source: dependents.SourceEvent, Text: "Unhealthy: probe failed", Since: at(3).Time, Count: 1},
	}
	if diff := cmp.Diff(want, sumUp(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithoutRepetitions(t *testing.T) {
	t.Parallel()
	condition := dependents.Reason{Source: dependents.SourceCondition, Text: "cannot be scheduled: 0/1 nodes are available"}
	failure := dependents.Reason{Source: dependents.SourceCondition, Text: `ReplicaFailure (FailedCreate): pods "web-abcde" is forbidden`}
	event := func(text string) dependents.Reason {
		return dependents.Reason{Source: dependents.SourceEvent, Text: text, Count: 4}
	}
	counted := func(reason dependents.Reason) dependents.Reason { reason.Count = 4; return reason }
	for _, test := range []struct {
		reason      string
		given, want []dependents.Reason
	}{
		{"an event with the words of a condition", []dependents.Reason{condition, event("FailedScheduling: 0/1 nodes are available")}, []dependents.Reason{counted(condition)}},
		{"an event about another pod for the same reason", []dependents.Reason{failure, event(`FailedCreate: pods "web-fghij" is forbidden`)}, []dependents.Reason{counted(failure)}},
		{"another event", []dependents.Reason{condition, event("FailedMount: no secret")}, []dependents.Reason{condition, event("FailedMount: no secret")}},
		{"two events", []dependents.Reason{event("A: same"), event("B: same")}, []dependents.Reason{event("A: same"), event("B: same")}},
	} {
		if diff := cmp.Diff(test.want, withoutRepetitions(test.given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, text, want string }{
		{"lines and blanks are joined", " a\n\tb\r\n", "a b"},
		{"colours go", "\x1b[1;31mred\x1b[0m", "red"},
		{"other commands to the terminal, and what is no text, can do no harm", "a\x07b\u009bc\xff", `a\ab\u009bc?`},
		{"other languages stay", "größer 大", "größer 大"},
	} {
		if got := oneLine(test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
		}
	}
}

func TestPlanQueries(t *testing.T) {
	t.Parallel()
	dependent := func(r resource, namespace string) *target {
		return &target{item: &reconciler.InventoryItem{}, resource: r, key: dependents.Key{GroupKind: r.GroupKind(), Namespace: namespace}}
	}
	configMaps := resource{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps"}
	roles := resource{schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, "clusterroles"}
	widgets := resource{schema.GroupVersionKind{Group: "example.io", Version: "v1", Kind: "Widget"}, "widgets"}
	for _, test := range []struct {
		reason  string
		targets []*target
		want    []string
	}{
		{
			reason:  "what owns nothing is all there is",
			targets: []*target{dependent(configMaps, "a"), dependent(configMaps, "a"), dependent(configMaps, "b"), dependent(roles, "")},
			want:    []string{"configmaps in a", "configmaps in b", "clusterroles in "},
		}, {
			reason:  "what a workload owns is looked for in its namespace only",
			targets: []*target{dependent(configMaps, "a"), dependent(deployments, "b")},
			want:    []string{"configmaps in a", "all persistentvolumeclaims in b", "all pods in b", "deployments in b", "all replicasets in b"},
		}, {
			reason:  "a Job of a CronJob is not told by labels, also if there are other Jobs",
			targets: []*target{dependent(jobs, "a"), dependent(cronJobs, "a")},
			want:    []string{"all persistentvolumeclaims in a", "all pods in a", "cronjobs in a", "all jobs in a"},
		}, {
			reason:  "a custom resource may own any workload, and what is among the dependents",
			targets: []*target{dependent(configMaps, "a"), dependent(widgets, "a")},
			want: []string{
				"all configmaps in a", "all persistentvolumeclaims in a", "all pods in a", "all daemonsets in a", "all deployments in a", "all replicasets in a",
				"all statefulsets in a", "all cronjobs in a", "all jobs in a", "all widgets in a",
			},
		}, {
			reason:  "a type that is not served is not asked for",
			targets: []*target{{item: &reconciler.InventoryItem{}, key: dependent(widgets, "a").key}},
			want:    nil,
		},
	} {
		var got []string
		for _, q := range planQueries(test.targets) {
			text := q.resource.plural + " in " + q.namespace
			if q.all {
				text = "all " + text
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestIsCustom(t *testing.T) {
	t.Parallel()
	for kind, want := range map[schema.GroupKind]bool{
		{Kind: "Pod"}: false, {Group: "apps", Kind: "Deployment"}: false, {Group: "apiregistration.k8s.io", Kind: "APIService"}: false,
		{Group: "gateway.networking.k8s.io", Kind: "Gateway"}: true, {Group: "example.io", Kind: "Widget"}: true,
	} {
		if got := isCustom(kind); got != want {
			t.Errorf("%s: got %t", kind, got)
		}
	}
}

func TestConditionReasons(t *testing.T) {
	t.Parallel()
	live := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False", "message": "said already"},
		map[string]any{"type": "Synced", "status": "True", "message": "all is well"},
		map[string]any{"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "message": "restates the status"},
		map[string]any{"type": "Degraded", "status": "True", "reason": "Lost", "message": "one member is lost", "lastTransitionTime": "2026-01-01T00:00:00Z"},
		map[string]any{"type": "Silent", "status": "False"},
		"malformed",
	}}}}
	want := []dependents.Reason{{Source: dependents.SourceCondition, Text: "Degraded (Lost): one member is lost", Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	if diff := cmp.Diff(want, conditionReasons(live, "Ready is False: said already")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
