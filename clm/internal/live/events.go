// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
)

// Event is a Kubernetes event about an object.
type Event struct {
	// Name is the name of the event. It is in the namespace of the object, or in "default" if the object is
	// cluster-scoped.
	Name string `json:"-"`
	// Time is the time of the last occurrence, First the time of the first one.
	Time  time.Time `json:"time"`
	First time.Time `json:"first"`
	// Type is Normal or Warning.
	Type string `json:"type"`
	// Reason is one word. Message is one line without control characters.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Reporter is the component that has reported the event, for example "kubelet".
	Reporter string `json:"reporter,omitempty"`
	// Count is the number of occurrences, at least 1.
	Count int `json:"count"`
	// Object is the object that the event is about.
	Object display.Object `json:"object"`

	uid     apitypes.UID
	version string
}

// EventReport is the result of Events.
type EventReport struct {
	// Events are sorted by time, the latest last.
	Events []Event `json:"events"`
	// Notes describe what is missing because the user may not read it. They are sorted.
	Notes []display.Note `json:"notes,omitempty"`
}

// Events returns the events about the dependents and the objects that they currently own. It sends one LIST per
// namespace, in addition to those of Tree. It ignores Options.Reasons.
func Events(ctx context.Context, options Options) (*EventReport, error) {
	s, err := newSurvey(options)
	if err != nil {
		return nil, err
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	// Events about cluster-scoped objects are in the default namespace.
	dependents, owned, namespaces := map[display.Key]bool{}, map[apitypes.UID]bool{}, map[string]bool{}
	for _, root := range s.grow() {
		dependents[root.Object.Key()] = true
		namespaces[cmp.Or(root.Object.Namespace, metav1.NamespaceDefault)] = true
		root.Walk(func(node *display.Node) { owned[node.Object.UID] = node.Object.UID != "" })
	}
	var mu sync.Mutex
	report := &EventReport{}
	err = concurrent.Each(maxRequests, slices.Collect(maps.Keys(namespaces)), func(_ int, namespace string) error {
		list, err := s.core.Events(namespace).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsForbidden(err):
			s.note(display.Note{Verb: "list", Resource: events.plural, Namespace: namespace})
			return nil
		case err != nil:
			return fmt.Errorf("listing events in namespace %s: %w", namespace, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range list.Items {
			if event := eventOf(&list.Items[i]); dependents[event.Object.Key()] || owned[event.Object.UID] {
				report.Events = append(report.Events, event)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(report.Events, func(a, b Event) int {
		return cmp.Or(a.Time.Compare(b.Time), a.Object.Compare(b.Object), cmp.Compare(a.Reason, b.Reason))
	})
	report.Notes = s.sortedNotes()
	return report, nil
}

// WatchEvents passes the events of Events to tell, sorted by time, and then new events and further occurrences,
// including those about objects that are created later. It passes one note about each resource that is missing because
// the user may not read it. Neither function is called concurrently with itself. It returns nil when the context ends.
func WatchEvents(ctx context.Context, options Options, tell func(event Event), note func(note display.Note)) error {
	options.Reasons = AllReasons
	note = once(note)
	seen := map[apitypes.UID]string{}
	return follow(ctx, options, note, func(ctx context.Context) error {
		report, err := Events(ctx, options)
		if err != nil {
			return err
		}
		for _, missing := range report.Notes {
			note(missing)
		}
		before := seen
		seen = map[apitypes.UID]string{}
		for _, event := range report.Events {
			seen[event.uid] = event.version
			if before[event.uid] != event.version {
				tell(event)
			}
		}
		return nil
	})
}

// eventOf converts an event of either format: some reporters set a count and two times, others a time with microseconds
// and a series.
func eventOf(entry *corev1.Event) Event {
	about, first := entry.InvolvedObject, cmp.Or(entry.FirstTimestamp.Time, entry.EventTime.Time, entry.CreationTimestamp.Time)
	event := Event{
		Name:     entry.Name,
		Time:     cmp.Or(entry.LastTimestamp.Time, first),
		First:    first,
		Type:     entry.Type,
		Reason:   oneLine(entry.Reason),
		Message:  oneLine(entry.Message),
		Reporter: cmp.Or(entry.ReportingController, entry.Source.Component),
		Count:    max(int(entry.Count), 1),
		Object:   display.Object{APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name, UID: about.UID},
		uid:      entry.UID,
		version:  entry.ResourceVersion,
	}
	if series := entry.Series; series != nil {
		event.Count, event.Time = max(event.Count, int(series.Count)), cmp.Or(series.LastObservedTime.Time, event.Time)
	}
	return event
}
