// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/internal/texts"
)

// PodFinding is a reason why a Pod is not ready.
type PodFinding struct {
	// Text is one line, such as "container main: CrashLoopBackOff, restarted 3 times; exited with code 1".
	Text string
	// Output is what the container has left as its termination message; it may be secret.
	Output string
	// Source says where the reason was found: "container", "condition" or "status".
	Source string
	// Since is when it began; zero if that is not known.
	Since time.Time
	// Vague means that the text says no more than that the Pod is not ready.
	Vague bool
	// Crashed is the container whose log may say more; empty if there is none. Previous means that it is the log of the
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
	switch t.Reason {
	case "", "Error", "Completed":
	default:
		text += " (" + t.Reason + ")"
	}
	return text
}

// gateFindings returns the readiness gates that are not True.
func gateFindings(pod *corev1.Pod) []PodFinding {
	var found []PodFinding
	for _, gate := range pod.Spec.ReadinessGates {
		isOpen, message, since := false, "", time.Time{}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == gate.ConditionType {
				isOpen, message, since = condition.Status == corev1.ConditionTrue, condition.Message, condition.LastTransitionTime.Time
			}
		}
		if !isOpen {
			text := joined(fmt.Sprintf("readiness gate %s is not True", gate.ConditionType), message)
			found = append(found, PodFinding{Source: sourceCondition, Text: text, Since: since})
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
