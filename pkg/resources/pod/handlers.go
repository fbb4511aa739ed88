// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// DefaultConvergingStatusHandler returns the progress of a Pod. It is Healthy if all containers, including sidecars,
// are ready or have succeeded. It is Failing if the Pod has failed, a container is in CrashLoopBackOff, or one has
// ended with an error and is not restarted. Otherwise it is Updating after an update, and Creating in all other cases.
func DefaultConvergingStatusHandler(op concepts.ConvergingOperation, pod *corev1.Pod) (concepts.AliveStatusWithReason, error) {
	failure, unready := failure(pod), unready(pod)
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusHealthy, Reason: "All containers have succeeded"}, nil
	case failure != "":
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusFailing, Reason: failure}, nil
	case pod.Status.Phase == corev1.PodRunning && len(unready) == 0:
		return concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusHealthy, Reason: "All containers are ready"}, nil
	}
	waiting := concepts.AliveStatusWithReason{Status: concepts.AliveConvergingStatusCreating, Reason: "Waiting for the containers to start"}
	if op == concepts.ConvergingOperationUpdated {
		waiting.Status = concepts.AliveConvergingStatusUpdating
	}
	if pod.Status.Phase == corev1.PodRunning {
		waiting.Reason = "Waiting for containers to be ready: " + strings.Join(unready, ", ")
	}
	return waiting, nil
}

// DefaultGraceStatusHandler returns how well a Pod does its job: Healthy if all containers are ready or have succeeded,
// Degraded if the Pod runs otherwise, and Down if it does not run.
func DefaultGraceStatusHandler(pod *corev1.Pod) (concepts.GraceStatusWithReason, error) {
	status, err := DefaultConvergingStatusHandler(concepts.ConvergingOperationNone, pod)
	grade := concepts.GraceStatusDown
	switch {
	case status.IsConverged():
		grade = concepts.GraceStatusHealthy
	case pod.Status.Phase == corev1.PodRunning:
		grade = concepts.GraceStatusDegraded
	}
	return concepts.GraceStatusWithReason{Status: grade, Reason: status.Reason}, err
}

// failure returns why the Pod will not become ready; empty if no reason is known. It leaves out the kubelet's messages
// about containers, because they change all the time.
func failure(pod *corev1.Pod) string {
	failed := pod.Status.Phase == corev1.PodFailed
	if failed && pod.Status.Reason != "" {
		return handlers.Text(pod.Status.Reason, pod.Status.Message)
	}
	for _, status := range statuses(pod) {
		if waiting := status.State.Waiting; waiting != nil && waiting.Reason == "CrashLoopBackOff" {
			return fmt.Sprintf("Container %s: %s", status.Name, waiting.Reason)
		}
		if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 && (failed || !restarts(pod, status.Name)) {
			return handlers.Text(fmt.Sprintf("Container %s exited with code %d", status.Name, ended.ExitCode), ended.Reason)
		}
	}
	if failed {
		return handlers.Text("The pod has failed", pod.Status.Message)
	}
	return ""
}

// restarts reports whether a container may be restarted after it has ended with an error.
func restarts(pod *corev1.Pod, name string) bool {
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if container.Name == name && container.RestartPolicy != nil {
			return *container.RestartPolicy != corev1.ContainerRestartPolicyNever || len(container.RestartPolicyRules) > 0
		}
	}
	return pod.Spec.RestartPolicy != corev1.RestartPolicyNever
}

// unready returns the names of the containers that should run but are not ready.
func unready(pod *corev1.Pod) []string {
	ready := map[string]bool{}
	for _, status := range statuses(pod) {
		ready[status.Name] = status.Ready
	}
	var names []string
	for _, container := range pod.Spec.InitContainers {
		if isSidecar(container) && !ready[container.Name] {
			names = append(names, container.Name)
		}
	}
	for _, container := range pod.Spec.Containers {
		if !ready[container.Name] {
			names = append(names, container.Name)
		}
	}
	return names
}

// isSidecar reports whether an init container runs as long as the Pod does.
func isSidecar(container corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// statuses returns the statuses of init containers and containers.
func statuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}
