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

	"github.com/component-operator/runtime/clm/internal/dependents"
)

// maxEventReasons is the number of kinds of events that are shown for an object.
const maxEventReasons = 3

// eventReasons asks for the events about an object and sums them up.
func (s *survey) eventReasons(ctx context.Context, node *dependents.Node) ([]dependents.Reason, error) {
	selector := fields.Set{"involvedObject.uid": string(node.Object.UID)}
	isClaim := node.Object.Key().GroupKind == claims.GroupKind()
	if !isClaim {
		// What a claim waits for is no cause for alarm to those who report it, but it is what we want to know.
		selector["type"] = corev1.EventTypeWarning
	}
	namespace := cmp.Or(node.Object.Namespace, metav1.NamespaceDefault)
	list, err := s.core.Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector.String()})
	switch {
	case apierrors.IsForbidden(err):
		s.note(dependents.Note{Verb: "list", Resource: events.plural, Namespace: namespace})
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing the events of %s: %w", node.Object, err)
	}
	return sumUp(list.Items), nil
}

// sumUp makes one reason of all events with the same reason: the message of the latest, since the earliest, with the number of
// all. The latest comes first.
func sumUp(list []corev1.Event) []dependents.Reason {
	found := make([]Event, 0, len(list))
	for i := range list {
		found = append(found, eventOf(&list[i]))
	}
	slices.SortStableFunc(found, func(a, b Event) int { return b.Time.Compare(a.Time) })
	var reasons []dependents.Reason
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
			reasons = append(reasons, dependents.Reason{Source: dependents.SourceEvent, Text: joined(event.Reason, event.Message), Since: event.First})
		}
		reasons[at].Count += event.Count
		if event.First.Before(reasons[at].Since) {
			reasons[at].Since = event.First
		}
	}
	return reasons
}

// restates reports whether an event of a kubelet says only what the state of the container says better.
func restates(event Event) bool {
	return event.Reason == "BackOff" || event.Reason == "Failed" && strings.HasPrefix(event.Message, "Error: ")
}

// lastLine returns the last line that a crashed container has written, if there is one.
func (s *survey) lastLine(ctx context.Context, pod *corev1.Pod, f finding) []dependents.Reason {
	lines := int64(1)
	raw, err := s.core.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: f.crashed, Previous: f.previous, TailLines: &lines, LimitBytes: new(int64(maxLastLine)),
	}).DoRaw(ctx)
	text := oneLine(string(raw))
	switch {
	case apierrors.IsForbidden(err):
		s.note(dependents.Note{Verb: "get", Resource: podLogs, Namespace: pod.Namespace})
		return nil
	case err != nil:
		// The node may be out of reach, and the log of an earlier run may be gone. That is no reason to show nothing at all.
		return []dependents.Reason{{Source: dependents.SourceLog, Text: joined("the log of container "+f.crashed+" cannot be read", err.Error())}}
	case text == "":
		return nil
	}
	return []dependents.Reason{{Source: dependents.SourceLog, Text: fmt.Sprintf("container %s wrote last: %s", f.crashed, text), Since: f.Since}}
}

const (
	podLogs = "pods/log"
	// maxLastLine bounds the bytes of the last line of a log.
	maxLastLine = 4096
)
