// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

// in returns a Pod with the containers web and log, the init containers prepare and proxy, and a status. Proxy is a sidecar.
func in(phase corev1.PodPhase, policy corev1.RestartPolicy, statuses ...corev1.ContainerStatus) *corev1.Pod {
	return &corev1.Pod{
		Spec: corev1.PodSpec{
			RestartPolicy:  policy,
			InitContainers: []corev1.Container{{Name: "prepare"}, {Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}},
			Containers:     []corev1.Container{{Name: "web"}, {Name: "log"}},
		},
		Status: corev1.PodStatus{Phase: phase, ContainerStatuses: statuses, InitContainerStatuses: []corev1.ContainerStatus{{Name: "prepare"}, ready("proxy")}},
	}
}

// because sets what the status says about the whole Pod.
func because(reason, message string, pod *corev1.Pod) *corev1.Pod {
	pod.Status.Reason, pod.Status.Message = reason, message
	return pod
}

// inits replaces the statuses of the init containers.
func inits(pod *corev1.Pod, statuses ...corev1.ContainerStatus) *corev1.Pod {
	pod.Status.InitContainerStatuses = statuses
	return pod
}

// webRestarts sets the policy of the container web.
func webRestarts(policy corev1.ContainerRestartPolicy, pod *corev1.Pod, rules ...corev1.ContainerRestartRule) *corev1.Pod {
	pod.Spec.Containers[0].RestartPolicy, pod.Spec.Containers[0].RestartPolicyRules = &policy, rules
	return pod
}

func ready(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, Ready: true}
}

func waits(name, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "back-off 10s"}}}
}

func ended(name string, code int32, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}}
}

type state = resourcestest.State[*corev1.Pod, concepts.AliveStatusWithReason]

// starting is the row for a Pod that is on its way.
func starting(why string, pod *corev1.Pod, grace concepts.GraceStatus, reason string) state {
	return state{
		Why: why, Object: pod, After: resourcestest.Unready(concepts.AliveConvergingStatusCreating, reason), Grace: resourcestest.Grace(grace, reason),
	}
}

// failing is the row for a Pod that will not become ready.
func failing(why string, pod *corev1.Pod, grace concepts.GraceStatus, reason string) state {
	return state{Why: why, Object: pod, Status: resourcestest.Alive(concepts.AliveConvergingStatusFailing, reason), Grace: resourcestest.Grace(grace, reason)}
}

// healthy is the row for a Pod that does its job, or has done it.
func healthy(why string, pod *corev1.Pod, reason string) state {
	return state{
		Why: why, Object: pod, Status: resourcestest.Alive(concepts.AliveConvergingStatusHealthy, reason), Grace: resourcestest.Grace(concepts.GraceStatusHealthy, reason),
	}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	const (
		always, never, onFailure = corev1.RestartPolicyAlways, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure
		running, pending, failed = corev1.PodRunning, corev1.PodPending, corev1.PodFailed
		degraded, down           = concepts.GraceStatusDegraded, concepts.GraceStatusDown
	)
	resourcestest.CheckStates(t, NewBuilder(sample()), []state{
		healthy("all containers are ready", in(running, always, ready("web"), ready("log")), "All containers are ready"),
		healthy("all containers have succeeded", in(corev1.PodSucceeded, never, ended("web", 0, "Completed"), ended("log", 0, "Completed")), "All containers have succeeded"),

		starting("there is no status yet", &corev1.Pod{}, down, "Waiting for the containers to start"),
		starting("nothing is known about the node", in(corev1.PodUnknown, always), down, "Waiting for the containers to start"),
		starting("an image is being pulled", in(pending, always, waits("web", "ContainerCreating"), waits("log", "ImagePullBackOff")), down, "Waiting for the containers to start"),
		starting("a container is not ready", in(running, always, ready("web"), waits("log", "ContainerCreating")), degraded, "Waiting for containers to be ready: log"),
		starting("a container has no status", in(running, always, ready("web")), degraded, "Waiting for containers to be ready: log"),
		starting("a sidecar is not ready", inits(in(running, always, ready("web")), waits("proxy", "")), degraded, "Waiting for containers to be ready: proxy, log"),
		starting("a container is started again", in(running, always, ready("web"), ended("log", 1, "Error")), degraded, "Waiting for containers to be ready: log"),
		starting("a container is started again, by default", in(running, "", ready("web"), ended("log", 1, "Error")), degraded, "Waiting for containers to be ready: log"),
		starting("a container is started again after a failure", in(running, onFailure, ready("web"), ended("log", 1, "Error")), degraded, "Waiting for containers to be ready: log"),
		starting("a container has done its work, and others go on", in(running, never, ready("web"), ended("log", 0, "Completed")), degraded, "Waiting for containers to be ready: log"),
		starting(
			"a container is started again, and others are not", webRestarts(corev1.ContainerRestartPolicyOnFailure, in(running, never, ended("web", 1, ""), ready("log"))),
			degraded, "Waiting for containers to be ready: web",
		),
		starting(
			"a container is started again after some exit codes",
			webRestarts(corev1.ContainerRestartPolicyNever, in(running, never, ended("web", 1, ""), ready("log")), corev1.ContainerRestartRule{Action: corev1.ContainerRestartRuleActionRestart}),
			degraded, "Waiting for containers to be ready: web",
		),

		failing("a container crashes again and again", in(running, always, waits("web", "CrashLoopBackOff"), ready("log")), degraded, "Container web: CrashLoopBackOff"),
		failing("an init container crashes again and again", inits(in(pending, always), waits("prepare", "CrashLoopBackOff")), down, "Container prepare: CrashLoopBackOff"),
		failing(
			"a container has ended with an error, and is not started again", in(running, never, ended("web", 137, "OOMKilled"), ready("log")),
			degraded, "Container web exited with code 137: OOMKilled",
		),
		failing(
			"a container has ended with an error, and others are started again", webRestarts(corev1.ContainerRestartPolicyNever, in(running, always, ended("web", 2, ""), ready("log"))),
			degraded, "Container web exited with code 2",
		),
		failing("the pod was evicted", because("Evicted", "low on memory", in(failed, always, ended("web", 137, "Error"))), down, "Evicted: low on memory"),
		failing("the pod has failed with a container", in(failed, onFailure, ended("web", 3, "Error")), down, "Container web exited with code 3: Error"),
		failing("the pod has failed for another reason", because("", "", in(failed, always)), down, "The pod has failed"),
		failing("the pod has failed, with a message", because("", "node lost", in(failed, always)), down, "The pod has failed: node lost"),
	})
	resourcestest.CheckSuspension(t, NewBuilder(sample()), resourcestest.Suspension[*corev1.Pod]{Deletes: true, States: []resourcestest.SuspensionState[*corev1.Pod]{
		{Why: "it is deleted", Object: in(running, always, ready("web"), ready("log")), Want: resourcestest.Suspended("")},
	}})
}

func TestMutator(t *testing.T) {
	t.Parallel()
	object := sample()
	m := NewMutator(object)
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.PodSpec(&m.PodSpec, &object.Spec))
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "v1/Pod/default/sample")
}
