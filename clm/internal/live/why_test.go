// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/testenv"
)

func mergePatch(content []byte) client.Patch {
	return client.RawPatch(types.StrategicMergePatchType, content)
}

func TestWhy(t *testing.T) {
	t.Parallel()
	ended := metav1.Now()
	for _, test := range []struct {
		name, reason, manifest string
		// state is what the kubelet says about the container of the pod, if it is asked at all.
		state *corev1.ContainerStatus
		// event is an event about the pod.
		event *corev1.Event
		logs  map[string]string
		until []string
	}{
		{
			name: "image", reason: "an image that cannot be pulled is named",
			manifest: workload("Deployment", "web", neverReady),
			state: &corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "ImagePullBackOff", Message: "Back-off pulling image: not found",
			}}},
			event: &corev1.Event{Reason: "BackOff", Message: "Back-off pulling image demo:1"},
			until: []string{"ImagePullBackOff of demo:1"},
		}, {
			name: "crash", reason: "a crash loop shows how the container ended and what it wrote last",
			manifest: workload("Deployment", "web", neverReady),
			state: &corev1.ContainerStatus{
				RestartCount: 4,
				State:        corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: 137, Reason: "OOMKilled", FinishedAt: ended,
				}},
			},
			event: &corev1.Event{Reason: "BackOff", Message: "Back-off restarting failed container"},
			logs:  map[string]string{"main previous": "starting\n\x1b[31mallocating 3 GiB\x1b[0m\n", "main": "this is not it\n"},
			until: []string{"wrote last"},
		}, {
			name: "probe", reason: "a probe that fails is known from events only",
			manifest: workload("Deployment", "web", neverReady),
			event:    &corev1.Event{Reason: "Unhealthy", Message: "Readiness probe failed: HTTP probe failed with statuscode: 503", Count: 12},
			until:    []string{"Unhealthy"},
		}, {
			name: "quota", reason: "a quota is a matter of the ReplicaSet, since there is no pod",
			manifest: "{apiVersion: v1, kind: ResourceQuota, metadata: {name: limit}, spec: {hard: {pods: 0}}}\n---" + workload("Deployment", "web", ""),
			until:    []string{"ReplicaFailure"},
		}, {
			name: "job", reason: "a failed Job shows its failed pods, and what they wrote last",
			manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {` + fail + `}}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {` + fail + `}}
    spec: {restartPolicy: Never, containers: [{name: main, image: demo:1}]}
`,
			logs:  map[string]string{"main": "connecting\nno such host: db\n"},
			until: []string{"wrote last", "failed (BackoffLimitExceeded)", "has failed"},
		}, {
			name: "claim", reason: "what a claim waits for is reported as normal, and shown nevertheless",
			manifest: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
`,
			until: []string{"ProvisioningFailed"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.logs.texts = test.logs
			for _, object := range testenv.Objects(t, test.manifest) {
				object.SetNamespace(w.namespace)
				if err := w.client.Create(t.Context(), object); err != nil {
					t.Fatal(err)
				}
				w.record(object)
				if object.GetKind() == "ResourceQuota" {
					w.awaitQuota(object.GetName())
				}
			}
			if test.state != nil || test.event != nil {
				pod := w.pods("web-", 1)[0]
				state := test.state
				if state == nil {
					state = &corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
				}
				w.asKubelet(pod, *state)
				if test.event != nil {
					w.report(&pod, *test.event)
				}
			}
			w.golden("why-"+test.name+".txt", display.WriteOptions{Why: true}, test.until...)
		})
	}
}

func (w *world) awaitQuota(name string) {
	w.Helper()
	testenv.Eventually(w, func() (bool, string) {
		quota := &corev1.ResourceQuota{}
		if err := w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, quota); err != nil {
			return false, err.Error()
		}
		return len(quota.Status.Hard) > 0, "the quota is not observed yet"
	})
}

// report writes an event about a pod, as a kubelet does.
func (w *world) report(pod *corev1.Pod, event corev1.Event) {
	w.Helper()
	now := metav1.Now()
	event.Namespace, event.GenerateName = w.namespace, pod.Name+"-"
	event.InvolvedObject = corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
	event.Source.Component, event.FirstTimestamp, event.LastTimestamp = "kubelet", now, now
	if event.Type == "" {
		event.Type = corev1.EventTypeWarning
	}
	if err := w.client.Create(w.Context(), &event); err != nil {
		w.Fatal(err)
	}
}

func TestManyPodsFailForTheSameReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deployment := testenv.Object(t, workload("Deployment", "web", fail))
	deployment.SetNamespace(w.namespace)
	deployment.Object["spec"].(map[string]any)["replicas"] = int64(8)
	if err := w.client.Create(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	w.record(deployment)
	w.logs.texts["main previous"] = "boom\n"
	testenv.Eventually(t, func() (bool, string) {
		shown := w.show(w.tree(), display.WriteOptions{Why: true})
		return len(w.pods("web-", 8)) == 8 && countOf(shown, "CrashLoopBackOff,") == 3, shown
	})
	w.requests.Reset()
	w.tree()
	logRequests := w.requests.Count(func(r testenv.Request) bool { return r.Subresource == "log" })
	eventRequests := w.requests.Count(func(r testenv.Request) bool { return r.Resource == "events" })
	if logRequests > 3 || eventRequests > 5 {
		t.Errorf("expected 3 pods, their owner and its owner to be asked about, got:\n%s", w.requests)
	}
	w.golden("flat.txt", display.WriteOptions{Why: true, Flat: true}, "CrashLoopBackOff")
}

func countOf(text, part string) int { return strings.Count(text, part) }
