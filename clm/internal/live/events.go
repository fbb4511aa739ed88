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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/internal/apiserver"
)

// Event is a Kubernetes event about an object.
type Event struct {
	// Name is the name of the event. It is in the namespace of the object, or in "default" if the object is
	// cluster-scoped.
	Name string `json:"-"`
	// Time is the time of the last occurrence, First that of the first one.
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
}

// EventReport is the result of Events.
type EventReport struct {
	// Events are sorted by time, the latest last.
	Events []Event `json:"events"`
	// Notes say what is missing because the user may not read it. They are sorted.
	Notes []display.Note `json:"notes,omitempty"`
}

// Events returns the events about the dependents and the objects that they own at present. It sends one LIST per
// namespace, in addition to those of Tree. It ignores Options.SkipReasons.
func Events(ctx context.Context, options Options) (*EventReport, error) {
	s, err := newSurvey(options)
	if err != nil {
		return nil, err
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	m := s.members()
	var mu sync.Mutex
	report := &EventReport{}
	err = each(ctx, m.eventNamespaces(), func(ctx context.Context, namespace string) error {
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
			event := eventOf(&list.Items[i])
			if _, ok := m.known(event.Object); ok {
				report.Events = append(report.Events, event)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(report.Events, compareEvents)
	report.Notes = s.sortedNotes()
	return report, nil
}

func compareEvents(a, b Event) int {
	return cmp.Or(a.Time.Compare(b.Time), a.Object.Compare(b.Object), cmp.Compare(a.Reason, b.Reason))
}

// EventSink receives the results of WatchEvents. Its functions are not called concurrently.
type EventSink struct {
	// Event gets each event, and each further occurrence of it. Required.
	Event func(event Event)
	// Note gets one note about each resource that is missing because the user may not read it. Defaults to none.
	Note func(note display.Note)
}

// WatchEvents passes on the events that Events would return, sorted by time within each namespace, and then new events,
// including those about objects that are created later. It returns nil when the context ends, and an error if no
// namespace may be watched. It reconnects if the connection is lost.
func WatchEvents(ctx context.Context, options Options, sink EventSink) error {
	s, err := newSurvey(options)
	if err != nil {
		return err
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	w := &eventWatch{members: s.members(), survey: s, sink: sink, seen: map[string]string{}}
	w.tellNotes()
	return inAll(ctx, w.members.eventNamespaces(), w.namespace)
}

type eventWatch struct {
	members *members
	survey  *survey
	sink    EventSink

	mu   sync.Mutex
	seen map[string]string // resource version by UID of the event
}

func (w *eventWatch) namespace(ctx context.Context, namespace string) error {
	source := cache.NewListWatchFromClient(w.survey.core.RESTClient(), events.plural, namespace, fields.Everything())
	err := apiserver.Watch(ctx, source, func(change apiserver.Change) error {
		if change.Deleted {
			return nil
		}
		return w.pass(ctx, change.Objects)
	})
	if apierrors.IsForbidden(err) {
		w.survey.note(display.Note{Verb: "list and watch", Resource: events.plural, Namespace: namespace})
		w.tellNotes()
	}
	return err
}

// pass passes on those of the given events that are new.
func (w *eventWatch) pass(ctx context.Context, objects []runtime.Object) error {
	var fresh []Event
	for _, object := range objects {
		entry, ok := object.(*corev1.Event)
		if !ok || !w.isNew(entry) {
			continue
		}
		event := eventOf(entry)
		_, belongs, err := w.members.find(ctx, event.Object, nil)
		if err != nil {
			return err
		}
		if belongs {
			fresh = append(fresh, event)
		}
	}
	w.tellNotes()
	slices.SortStableFunc(fresh, compareEvents)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, event := range fresh {
		w.sink.Event(event)
	}
	return nil
}

func (w *eventWatch) isNew(entry *corev1.Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	isNew := w.seen[string(entry.GetUID())] != entry.GetResourceVersion()
	w.seen[string(entry.GetUID())] = entry.GetResourceVersion()
	return isNew
}

func (w *eventWatch) tellNotes() {
	notes := w.survey.newNotes()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, note := range notes {
		if w.sink.Note != nil {
			w.sink.Note(note)
		}
	}
}

// eventOf converts an event of either format: some reporters set a count and two times, others a time with microseconds
// and a series.
func eventOf(entry *corev1.Event) Event {
	about := entry.InvolvedObject
	event := Event{
		Name:     entry.Name,
		Time:     entry.LastTimestamp.Time,
		First:    entry.FirstTimestamp.Time,
		Type:     entry.Type,
		Reason:   oneLine(entry.Reason),
		Message:  oneLine(entry.Message),
		Reporter: cmp.Or(entry.ReportingController, entry.Source.Component),
		Count:    max(int(entry.Count), 1),
		Object:   display.Object{APIVersion: about.APIVersion, Kind: about.Kind, Namespace: about.Namespace, Name: about.Name, UID: about.UID},
	}
	if event.First.IsZero() {
		event.First = entry.EventTime.Time
	}
	if event.First.IsZero() {
		event.First = entry.CreationTimestamp.Time
	}
	if series := entry.Series; series != nil {
		event.Count, event.Time = max(event.Count, int(series.Count)), series.LastObservedTime.Time
	}
	if event.Time.IsZero() {
		event.Time = event.First
	}
	return event
}

// eventNamespaces returns the namespaces of events about members. Events about cluster-scoped objects are in the
// default namespace.
func (m *members) eventNamespaces() []string {
	namespaces := map[string]bool{}
	for at := range m.byKey {
		namespaces[cmp.Or(at.Namespace, metav1.NamespaceDefault)] = true
	}
	return slices.Sorted(maps.Keys(namespaces))
}
