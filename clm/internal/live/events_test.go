// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/internal/testenv"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(workload("Deployment", "web", ""))
	w.createForeign(workload("Deployment", "other", ""))
	w.pods("other-", 1)
	w.report(&w.pods("web-", 1)[0], corev1.Event{Reason: "Unhealthy", Message: "Readiness probe\nfailed", Count: 3})
	var report *live.EventReport
	testenv.Eventually(t, func() (bool, string) {
		var err error
		if report, err = live.Events(t.Context(), w.options); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, event := range report.Events {
			seen[event.Object.Kind+" "+event.Reason] = true
		}
		all := seen["Deployment ScalingReplicaSet"] && seen["ReplicaSet SuccessfulCreate"] && seen["Pod Scheduled"] && seen["Pod Unhealthy"]
		return all, fmt.Sprint(seen)
	})
	for i, event := range report.Events {
		if !strings.HasPrefix(event.Object.Name, "web") {
			t.Errorf("%s is about an object that does not belong to the release", event.Object)
		}
		if i > 0 && event.Time.Before(report.Events[i-1].Time) {
			t.Errorf("%s comes after what is later", event.Reason)
		}
		if event.Reason == "Unhealthy" && (event.Count != 3 || event.Message != "Readiness probe failed" || event.Reporter != "kubelet") {
			t.Errorf("got %+v", event)
		}
	}
}

func TestWatchEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deployment := w.create(workload("Deployment", "web", ""))[0]
	w.report(&w.pods("web-", 1)[0], corev1.Event{Reason: "Unhealthy", Message: "before"})

	var mu sync.Mutex
	counts := map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		done <- live.WatchEvents(ctx, w.options, func(event live.Event) {
			mu.Lock()
			defer mu.Unlock()
			counts[event.Message]++
		}, nil)
	}()
	await := func(message string) {
		t.Helper()
		testenv.Eventually(t, func() (bool, string) {
			mu.Lock()
			defer mu.Unlock()
			return counts[message] > 0, fmt.Sprintf("no %q among %v", message, counts)
		})
	}
	await("before")

	w.createForeign(workload("Deployment", "other", ""))
	w.report(&w.pods("other-", 1)[0], corev1.Event{Reason: "Unhealthy", Message: "foreign"})
	// A rollout creates a ReplicaSet and a pod that are not known yet.
	patch := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"demo:2"}]}}}}`)
	if err := w.client.Patch(t.Context(), deployment, mergePatch(patch)); err != nil {
		t.Fatal(err)
	}
	var later *corev1.Pod
	testenv.Eventually(t, func() (bool, string) {
		for _, pod := range w.pods("web-", 1) {
			if pod.Spec.Containers[0].Image == "demo:2" {
				later = &pod
			}
		}
		return later != nil, "no new pod yet"
	})
	w.report(later, corev1.Event{Reason: "Unhealthy", Message: "after"})
	await("after")

	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if counts["foreign"] != 0 || counts["before"] != 1 || counts["after"] != 1 {
		t.Errorf("expected each event of the release once, and no other, got %v", counts)
	}
}
