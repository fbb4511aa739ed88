// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// asKubelet has the pods of a namespace be in a state, as kubelets report it.
func (p *place) asKubelet(status corev1.ContainerStatus) {
	p.Helper()
	testenv.Eventually(p, func() (bool, string) {
		pods := &corev1.PodList{}
		if err := p.client.List(p.Context(), pods, client.InNamespace(p.namespace)); err != nil {
			return false, err.Error()
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if len(pod.Status.ContainerStatuses) == 0 {
				return false, "no simulated kubelet has seen the pod yet"
			}
			status.Name, status.Image = pod.Spec.Containers[0].Name, pod.Spec.Containers[0].Image
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
			if err := p.client.Status().Update(p.Context(), pod); err != nil && !apierrors.IsConflict(err) {
				p.Fatal(err)
			} else if err != nil {
				return false, err.Error()
			}
		}
		return len(pods.Items) > 0, "there are no pods"
	})
}

// expectSoon waits until a running command has written a text.
func (p *place) expectSoon(output fmt.Stringer, want string) {
	p.Helper()
	testenv.Eventually(p, func() (bool, string) {
		return strings.Contains(output.String(), want), fmt.Sprintf("want %q, got %s", want, output)
	})
}

// TestReasonsAreShownWhileWaiting has pods get into trouble while clm waits for them: it says at once what holds them
// up, long before its timeout.
func TestReasonsAreShownWhileWaiting(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := p.file("app.yaml", deployment("web", neverReady, ""))
	apply, output := p.start("apply", "web", source, "--timeout", "10m")
	p.asKubelet(corev1.ContainerStatus{
		RestartCount: 3,
		State:        corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 40s"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", FinishedAt: metav1.Now(),
		}},
	})
	p.expectSoon(output, "web: waiting: 0/1 replicas available; Pod web-")
	p.expectSoon(output, ": container main: CrashLoopBackOff, restarted 3 times; exited with code 1")

	// Somebody else who waits for the release sees it, too.
	wait, seen := p.start("wait", "web", "--timeout", "10m")
	p.expectSoon(seen, "CrashLoopBackOff, restarted 3 times")

	// The next reason takes the place of the first one.
	p.asKubelet(corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image: not found"}}})
	p.expectSoon(output, "ImagePullBackOff of ")
	for _, command := range []interface{ Signal(os.Signal) error }{apply.Process, wait.Process} {
		if err := command.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	}
	_, _ = apply.Wait(), wait.Wait()
	p.must("delete", "web")
}
