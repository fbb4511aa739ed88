// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/texts"
)

// MaxMessageLength is the maximum length of a message of a Result, in bytes. Longer ones are cut.
const MaxMessageLength = 256

// Clip puts the message on one line and cuts it, between characters, to MaxMessageLength.
func Clip(message string) string {
	return texts.Truncate(strings.Join(strings.Fields(message), " "), MaxMessageLength)
}

// plainMessages are the messages for statuses without further details.
var plainMessages = map[Status]string{
	CurrentStatus: "ready", InProgressStatus: "in progress", FailedStatus: "failed", TerminatingStatus: "being deleted", NotFoundStatus: "not found",
	UnknownStatus: "status unknown",
}

// plainMessage is the message for a status without further details.
func plainMessage(status Status) string {
	return cmp.Or(plainMessages[status], "status "+string(status))
}

// namespaceObstacles are the conditions with the reasons that block the deletion of a namespace, the most urgent first.
var namespaceObstacles = []string{
	string(corev1.NamespaceDeletionDiscoveryFailure),
	string(corev1.NamespaceDeletionGVParsingFailure),
	string(corev1.NamespaceDeletionContentFailure),
	string(corev1.NamespaceFinalizersRemaining),
	string(corev1.NamespaceContentRemaining),
}

// terminatingMessage describes what blocks the deletion of an object.
func terminatingMessage(object *unstructured.Unstructured) string {
	var obstacles []string
	finalizers := slices.Sorted(slices.Values(object.GetFinalizers()))
	for _, collector := range []struct{ finalizer, waiting string }{
		{metav1.FinalizerDeleteDependents, "waiting for the deletion of the objects that it owns"},
		{metav1.FinalizerOrphanDependents, "waiting until the objects that it owns are orphaned"},
	} {
		if at := slices.Index(finalizers, collector.finalizer); at >= 0 {
			obstacles, finalizers = append(obstacles, collector.waiting), slices.Delete(finalizers, at, at+1)
		}
	}
	if len(finalizers) > 0 {
		obstacles = append(obstacles, "waiting for finalizers: "+strings.Join(finalizers, ", "))
	}
	if v := newView(object); v.is("", "Namespace") {
		for _, name := range namespaceObstacles {
			if found := v.condition(name); found.isTrue() && found.text("message") != "" {
				obstacles = append(obstacles, found.text("message"))
			}
		}
	}
	if failure := DeletionFailure(object); failure != "" {
		obstacles = append(obstacles, failure)
	}
	if len(obstacles) == 0 {
		return plainMessage(TerminatingStatus)
	}
	return Clip(strings.Join(obstacles, "; "))
}

// DeletionFailure returns why the API server has failed to delete the instances of a CustomResourceDefinition that is
// being deleted; empty if it has not, and for all other objects.
func DeletionFailure(object *unstructured.Unstructured) string {
	v := newView(object)
	if object.GetDeletionTimestamp() == nil || !v.is("apiextensions.k8s.io", "CustomResourceDefinition") {
		return ""
	}
	found := v.condition("Terminating")
	reason := found.text("reason")
	if !found.isTrue() || reason != "InstanceDeletionFailed" && reason != "InstanceDeletionCheck" {
		return ""
	}
	return cmp.Or(found.text("message"), reason)
}

// message describes the result of kstatus, by the same rules in the same order.
func (v view) message(computed *kstatus.Result) string {
	if words := v.generationMessage(); words != "" {
		return words
	}
	for _, name := range []string{kstatus.ConditionReconciling.String(), kstatus.ConditionStalled.String()} {
		if found := v.condition(name); found.isTrue() {
			return found.describe()
		}
	}
	if words := v.kindMessage(Status(computed.Status)); words != "" {
		return words
	}
	if ready := v.condition("Ready"); ready.present && computed.Status != kstatus.CurrentStatus {
		return ready.describe()
	}
	if computed.Status == kstatus.CurrentStatus || computed.Message == "" {
		return plainMessage(Status(computed.Status))
	}
	return computed.Message
}

func (v view) generationMessage() string {
	observed, found := v.field("status", "observedGeneration")
	generation := v.number(0, "metadata", "generation")
	switch {
	case !found || generation == 0 || observed == generation:
		return ""
	case observed == int64(-1):
		return fmt.Sprintf("generation %d not observed yet", generation)
	default:
		return fmt.Sprintf("generation %d not observed yet, only %v", generation, observed)
	}
}

func (v view) kindMessage(status Status) string {
	switch v.kind.String() {
	case "Deployment.apps":
		return v.deploymentMessage(status)
	case "StatefulSet.apps":
		return v.statefulSetMessage(status)
	case "ReplicaSet.apps", "ReplicationController":
		return v.replicaSetCount().String() + v.replicaFailure()
	case "DaemonSet.apps":
		return v.daemonSetMessage()
	case "Job.batch":
		return v.jobMessage()
	case "PersistentVolumeClaim":
		return v.claimMessage()
	case "Service":
		if status == InProgressStatus {
			return "no cluster IP assigned yet"
		}
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return v.definitionMessage(status)
	}
	return ""
}

// podFailure returns why a Pod has failed: for a reason of its own, such as an eviction, or because of a container.
func (v view) podFailure() string {
	if message := cmp.Or(v.text("status", "message"), v.text("status", "reason")); message != "" {
		return message
	}
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		value, _ := v.field("status", field)
		containers, _ := value.([]any)
		for _, container := range containers {
			fields, _ := container.(map[string]any)
			ended, found, _ := unstructured.NestedMap(fields, "state", "terminated")
			if code := ended["exitCode"]; found && code != int64(0) {
				text := fmt.Sprintf("container %v exited with code %v", fields["name"], code)
				if message, _ := ended["message"].(string); message != "" {
					return text + ": " + message
				}
				return text
			}
		}
	}
	return "has failed"
}

func (v view) deploymentMessage(status Status) string {
	count := v.replicaCount("available", "availableReplicas", true)
	if status == InProgressStatus {
		count.unfinished()
	}
	words := count.String() + v.replicaFailure()
	if status == FailedStatus {
		return "progress deadline exceeded, " + words
	}
	return words
}

func (v view) statefulSetMessage(status Status) string {
	isRollout := status == InProgressStatus && !v.updatesOnDelete()
	partition := v.number(0, "spec", "updateStrategy", "rollingUpdate", "partition")
	count := v.replicaCount("ready", "readyReplicas", isRollout && partition == 0)
	if isRollout {
		count.unfinished()
	}
	return count.String()
}

// replicaCount counts the pods of a workload that are in a state, from a field of its status, and, if ofVersion is set,
// those that are updated.
func (v view) replicaCount(state, field string, ofVersion bool) *count {
	count := counting(v.number(1, "spec", "replicas"), "replicas")
	count.state(state, v.number(0, "status", field))
	if ofVersion {
		count.progress("updated", v.number(0, "status", "updatedReplicas"))
	}
	count.surplus(v.number(0, "status", "replicas"))
	return count
}

// replicaSetCount counts the pods of a ReplicaSet or ReplicationController.
func (v view) replicaSetCount() *count {
	return v.replicaCount("available", "availableReplicas", false)
}

func (v view) daemonSetMessage() string {
	if v.number(-1, "status", "desiredNumberScheduled") < 0 {
		return "not scheduled yet"
	}
	count := v.daemonSetCount()
	if !v.updatesOnDelete() {
		count.progress("updated", v.number(0, "status", "updatedNumberScheduled"))
	}
	return count.String()
}

// daemonSetCount counts the pods of a DaemonSet of any version.
func (v view) daemonSetCount() *count {
	count := counting(v.number(0, "status", "desiredNumberScheduled"), "pods")
	count.state("available", v.number(0, "status", "numberAvailable"))
	return count
}

// updatesOnDelete reports whether pods are updated only when a user deletes them.
func (v view) updatesOnDelete() bool {
	return v.text("spec", "updateStrategy", "type") == "OnDelete"
}

// replicaFailure returns why pods cannot be created. It omits the beginning of the condition's message, where the
// random name of the last pod changes all the time.
func (v view) replicaFailure() string {
	failure := v.condition("ReplicaFailure")
	if !failure.isTrue() {
		return ""
	}
	words := "; replicas cannot be created (" + failure.text("reason") + ")"
	if _, cause, found := strings.Cut(failure.text("message"), " is forbidden: "); found {
		words += ": " + cause
	}
	return words
}

func (v view) jobMessage() string {
	if v.condition("Complete").isTrue() {
		return "completed"
	}
	if failed := v.condition("Failed"); failed.isTrue() {
		return "failed" + failed.because()
	}
	if failing := v.condition("FailureTarget"); failing.isTrue() {
		return "failing" + failing.because()
	}
	switch {
	case v.condition("Suspended").isTrue():
		return "suspended"
	case v.text("status", "startTime") == "":
		return "not started yet"
	}
	parallelism := v.number(1, "spec", "parallelism")
	words := fmt.Sprintf("running: %d/%d succeeded, %d active", v.number(0, "status", "succeeded"),
		v.number(parallelism, "spec", "completions"), v.number(0, "status", "active"))
	if failed := v.number(0, "status", "failed"); failed > 0 {
		words += fmt.Sprintf(", %d failed", failed)
	}
	return words
}

func (v view) claimMessage() string {
	switch phase := v.text("status", "phase"); phase {
	case "Bound":
		return "bound"
	case "":
		return "not bound yet"
	default:
		return "not bound yet (phase " + phase + ")"
	}
}

func (v view) definitionMessage(status Status) string {
	for _, name := range []string{"NamesAccepted", "Established"} {
		if found := v.condition(name); status != CurrentStatus && !found.isTrue() {
			return found.describe()
		}
	}
	return ""
}

// PodFinding is a reason why a Pod is not ready.
type PodFinding struct {
	// Text is one line, such as "container main: CrashLoopBackOff, restarted 3 times; exited with code 1".
	Text string
	// Output is the termination message of the container; it may be secret.
	Output string
	// Source is where the reason was found: "container", "condition" or "status".
	Source string
	// Since is when it began; zero if that is not known.
	Since time.Time
	// Vague means that the text gives no reason why the Pod is not ready.
	Vague bool
	// Crashed is the container whose log may have details; empty if there is none. Previous selects the log of the
	// previous run.
	Crashed  string
	Previous bool
}

const (
	sourceContainer = "container"
	sourceCondition = "condition"
	sourceStatus    = "status"
)

// PodFindings returns the reasons in the status of a Pod why it is not ready, the most comprehensive first.
func PodFindings(pod *corev1.Pod) []PodFinding {
	var found []PodFinding
	if pod.Status.Reason != "" {
		found = append(found, PodFinding{Source: sourceStatus, Text: joined(pod.Status.Reason, pod.Status.Message)})
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			text := joined("cannot be scheduled", condition.Message)
			found = append(found, PodFinding{Source: sourceCondition, Text: text, Since: condition.LastTransitionTime.Time})
		}
	}
	for _, container := range pod.Status.InitContainerStatuses {
		found = append(found, containerFindings(pod, "init container "+container.Name, container)...)
	}
	for _, container := range pod.Status.ContainerStatuses {
		found = append(found, containerFindings(pod, "container "+container.Name, container)...)
	}
	return append(found, gateFindings(pod)...)
}

// containerFindings returns at most one finding.
func containerFindings(pod *corev1.Pod, title string, c corev1.ContainerStatus) []PodFinding {
	if c.Ready {
		return nil
	}
	f := PodFinding{Source: sourceContainer}
	last := c.LastTerminationState.Terminated
	switch {
	case c.State.Waiting != nil:
		f = waitingFinding(pod, c)
	case c.State.Terminated != nil && (c.State.Terminated.ExitCode != 0 || pod.Status.Phase == corev1.PodFailed):
		f.Text, f.Output, f.Since, f.Crashed = exitText(c.State.Terminated), c.State.Terminated.Message, c.State.Terminated.FinishedAt.Time, c.Name
	case c.State.Terminated != nil:
		return nil
	case last != nil:
		f.Text = fmt.Sprintf("running, but not ready; restarted %s; before the last restart it %s", times(int64(c.RestartCount)), exitText(last))
		f.Output, f.Since, f.Crashed, f.Previous = last.Message, last.FinishedAt.Time, c.Name, true
	case c.State.Running != nil:
		f.Text, f.Since, f.Vague = "running, but not ready", c.State.Running.StartedAt.Time, true
	default:
		f.Text, f.Vague = "not started yet", true
	}
	f.Text = title + ": " + f.Text
	return []PodFinding{f}
}

func waitingFinding(pod *corev1.Pod, c corev1.ContainerStatus) PodFinding {
	waiting, last := c.State.Waiting, c.LastTerminationState.Terminated
	f := PodFinding{Source: sourceContainer}
	if pod.Status.StartTime != nil {
		f.Since = pod.Status.StartTime.Time
	}
	switch waiting.Reason {
	case "", "PodInitializing", "ContainerCreating":
		f.Text, f.Vague = joined("not started yet", waiting.Reason), true
	case "CrashLoopBackOff":
		f.Text = waiting.Reason + ", restarted " + times(int64(c.RestartCount))
		if last != nil {
			f.Text += "; " + exitText(last)
			f.Output, f.Since, f.Crashed, f.Previous = last.Message, last.FinishedAt.Time, c.Name, true
		}
	default:
		f.Text = joined(waiting.Reason, waiting.Message)
		if strings.Contains(waiting.Reason, "Image") && !strings.Contains(waiting.Message, c.Image) {
			f.Text = joined(waiting.Reason+" of "+c.Image, waiting.Message)
		}
	}
	return f
}

// exitText describes how a container has ended.
func exitText(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("exited with code %d", t.ExitCode)
	if t.Signal != 0 {
		text = fmt.Sprintf("was killed by signal %d", t.Signal)
	}
	if !slices.Contains([]string{"", "Error", "Completed"}, t.Reason) {
		text += " (" + t.Reason + ")"
	}
	return text
}

// gateFindings returns the readiness gates that are not True.
func gateFindings(pod *corev1.Pod) []PodFinding {
	var found []PodFinding
	for _, gate := range pod.Spec.ReadinessGates {
		var reported corev1.PodCondition
		for _, condition := range pod.Status.Conditions {
			if condition.Type == gate.ConditionType {
				reported = condition
			}
		}
		if reported.Status != corev1.ConditionTrue {
			text := joined(fmt.Sprintf("readiness gate %s is not True", gate.ConditionType), reported.Message)
			found = append(found, PodFinding{Source: sourceCondition, Text: text, Since: reported.LastTransitionTime.Time})
		}
	}
	return found
}

func joined(text, more string) string {
	if more = texts.Truncate(strings.Join(strings.Fields(more), " "), 2*MaxMessageLength); more != "" {
		text += ": " + more
	}
	return text
}

func times(count int64) string {
	if count == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", count)
}
