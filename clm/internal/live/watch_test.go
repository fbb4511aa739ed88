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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/testenv"
)

// attention counts how often Watch has called for another picture.
type attention struct {
	*world

	mu    sync.Mutex
	calls int
	notes []display.Note
}

// watch watches until the test ends.
func (w *world) watch() *attention {
	w.Helper()
	a := &attention{world: w}
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- live.Watch(ctx, w.options, live.WatchSink{
			Changed: func() { a.mu.Lock(); defer a.mu.Unlock(); a.calls++ },
			Note:    func(note display.Note) { a.mu.Lock(); defer a.mu.Unlock(); a.notes = append(a.notes, note) },
		})
	}()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the end of the context is no error, got %v", err)
		}
	})
	return a
}

func (a *attention) count() int { a.mu.Lock(); defer a.mu.Unlock(); return a.calls }

// called waits for another call than those that were counted before.
func (a *attention) called(before int, reason string) {
	a.Helper()
	testenv.Eventually(a.TB, func() (bool, string) { return a.count() > before, reason })
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(workload("Deployment", "web", neverReady))
	w.until(display.WriteOptions{Why: true}, "running, but not ready")
	pod := w.pods("web", 1)[0]
	a := w.watch()
	a.called(0, "when everything is watched, it is time for a picture")

	// What happens to objects of one kind arrives in order: when a call comes for our own pod, what others have done
	// before it was seen. Our own workload may not have come to rest yet; so it is tried again.
	foreign := w.createForeign(strings.ReplaceAll(barePod, "NAME", "other"))[0]
	testenv.Eventually(t, func() (bool, string) {
		before := a.count()
		for _, object := range []client.Object{foreign, &pod} {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"count":"%d"}}}`, before))
			if err := w.client.Patch(t.Context(), object, patch); err != nil {
				t.Fatal(err)
			}
		}
		a.called(before, "a pod of ours was labelled")
		return a.count() == before+1, "the pod of others calls for pictures as well"
	})
	before := a.count()
	w.asKubelet(pod, corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}})
	a.called(before, "a pod of ours has changed")
	before = a.count()
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "web-"}, Type: corev1.EventTypeWarning, Reason: "Failed", Message: "no",
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: w.namespace, Name: pod.Name, UID: pod.UID},
	}
	if err := w.client.Create(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	a.called(before, "something was reported about a pod of ours")
	before = a.count()
	if err := w.client.Delete(t.Context(), &pod); err != nil {
		t.Fatal(err)
	}
	a.called(before, "a pod of ours is going")
}

const barePod = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec: {containers: [{name: main, image: demo:1}]}
`
