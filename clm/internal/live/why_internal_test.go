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

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
)

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
	want := []display.Reason{
		{Source: display.SourceEvent, Text: "FailedScheduling: no node", Since: at(2).Time, Count: 5},
		{Source: display.SourceEvent, Text: "FailedCreate: pod b is refused", Since: at(0).Time, Count: 5},
		{Source: display.SourceEvent, Text: "Unhealthy: probe failed", Since: at(3).Time, Count: 1},
	}
	if diff := cmp.Diff(want, sumUp(display.Map(list, func(entry corev1.Event) Event { return eventOf(&entry) }))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWithoutRepetitions(t *testing.T) {
	t.Parallel()
	condition := display.Reason{Source: display.SourceCondition, Text: "cannot be scheduled: 0/1 nodes are available"}
	failure := display.Reason{Source: display.SourceCondition, Text: `ReplicaFailure (FailedCreate): pods "web-abcde" is forbidden`}
	event := func(text string) display.Reason {
		return display.Reason{Source: display.SourceEvent, Text: text, Count: 4}
	}
	counted := func(reason display.Reason) display.Reason { reason.Count = 4; return reason }
	for _, test := range []struct {
		reason      string
		given, want []display.Reason
	}{
		{"an event with the words of a condition", []display.Reason{condition, event("FailedScheduling: 0/1 nodes are available")}, []display.Reason{counted(condition)}},
		{"an event about another pod for the same reason", []display.Reason{failure, event(`FailedCreate: pods "web-fghij" is forbidden`)}, []display.Reason{counted(failure)}},
		{"another event", []display.Reason{condition, event("FailedMount: no secret")}, []display.Reason{condition, event("FailedMount: no secret")}},
		{"two events", []display.Reason{event("A: same"), event("B: same")}, []display.Reason{event("A: same"), event("B: same")}},
	} {
		if diff := cmp.Diff(test.want, withoutRepetitions(test.given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestPlanQueries(t *testing.T) {
	t.Parallel()
	dependent := func(r resource, namespace string) *target {
		return &target{item: &reconciler.InventoryItem{}, resource: r, key: display.Key{GroupKind: r.GroupKind(), Namespace: namespace}}
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
	want := []display.Reason{{Source: display.SourceCondition, Text: "Degraded (Lost): one member is lost", Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	if diff := cmp.Diff(want, conditionReasons(live, "Ready is False: said already")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
