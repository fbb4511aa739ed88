// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/pkg/status"
)

// maxEventReasons is the maximum number of event reasons that are shown for an object.
const maxEventReasons = 3

// eventReasons reads the events about an object and summarizes them.
func (s *survey) eventReasons(ctx context.Context, node *display.Node) ([]display.Reason, error) {
	selector := fields.Set{"involvedObject.uid": string(node.Object.UID)}
	isClaim := node.Object.Key().GroupKind == claims.GroupKind()
	if !isClaim {
		// The reason that a claim waits is reported as Normal, so all events of claims are read.
		selector["type"] = corev1.EventTypeWarning
	}
	namespace := cmp.Or(node.Object.Namespace, metav1.NamespaceDefault)
	list, err := s.core.Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector.String()})
	switch {
	case apierrors.IsForbidden(err):
		s.note(display.Note{Verb: "list", Resource: events.plural, Namespace: namespace})
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing the events of %s: %w", node.Object, err)
	}
	return sumUp(list.Items), nil
}

// sumUp combines events with the same reason: the message of the latest, the time of the earliest, and the total count.
// The latest comes first.
func sumUp(list []corev1.Event) []display.Reason {
	found := make([]Event, 0, len(list))
	for i := range list {
		found = append(found, eventOf(&list[i]))
	}
	slices.SortStableFunc(found, func(a, b Event) int { return b.Time.Compare(a.Time) })
	var reasons []display.Reason
	position := map[string]int{}
	for _, event := range found {
		if restates(event) {
			continue
		}
		at, seen := position[event.Reason]
		if !seen {
			if len(reasons) == maxEventReasons {
				continue
			}
			at = len(reasons)
			position[event.Reason] = at
			reasons = append(reasons, display.Reason{Source: display.SourceEvent, Text: joined(event.Reason, event.Message), Since: event.First})
		}
		reasons[at].Count += event.Count
		if event.First.Before(reasons[at].Since) {
			reasons[at].Since = event.First
		}
	}
	return reasons
}

// restates reports whether an event of a kubelet only repeats the state of the container, which says it better.
func restates(event Event) bool {
	return event.Reason == "BackOff" || event.Reason == "Failed" && strings.HasPrefix(event.Message, "Error: ")
}

// lastLine returns the last line in the log of a crashed container, if there is one.
func (s *survey) lastLine(ctx context.Context, pod *corev1.Pod, f status.PodFinding) []display.Reason {
	lines := int64(1)
	raw, err := s.core.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: f.Crashed, Previous: f.Previous, TailLines: &lines, LimitBytes: new(int64(maxLastLine)),
	}).DoRaw(ctx)
	text := oneLine(string(raw))
	switch {
	case apierrors.IsForbidden(err):
		s.note(display.Note{Verb: "get", Resource: podLogs, Namespace: pod.Namespace})
		return nil
	case err != nil:
		// The node may be unreachable, and the log of an earlier run may be gone. The other reasons are shown
		// nevertheless.
		return []display.Reason{{Source: display.SourceLog, Text: joined("the log of container "+f.Crashed+" cannot be read", err.Error())}}
	case text == "":
		return nil
	}
	return []display.Reason{{Source: display.SourceLog, Text: fmt.Sprintf("last log line of container %s: %s", f.Crashed, text), Since: f.Since}}
}

const (
	podLogs = "pods/log"
	// maxLastLine limits the bytes of the last line of a log.
	maxLastLine = 4096
)

func joined(text, more string) string {
	if more = oneLine(more); more != "" {
		text += ": " + more
	}
	return text
}
