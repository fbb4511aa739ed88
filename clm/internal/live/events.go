// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/apiserver"
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
	s := NewSurvey(Sink{})
	defer s.Close()
	s.once, options.Events = true, true
	if err := s.Set(options); err != nil {
		return nil, err
	}
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	return s.eventReport(), nil
}

// eventReport returns the events that were read.
func (s *Survey) eventReport() *EventReport {
	s.grow()
	return &EventReport{Events: byTime(s.takeOurEvents()), Notes: s.sortedNotes()}
}

// byTime sorts events, the latest last.
func byTime(list []Event) []Event {
	slices.SortStableFunc(list, func(a, b Event) int {
		return cmp.Or(a.Time.Compare(b.Time), a.Object.Compare(b.Object), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

func (s *Survey) isAboutUsLocked(event Event) bool {
	return s.members[event.Object.UID] || s.roots[event.Object.Key()] != nil
}

// maxForeign is the maximum number of events that are kept about objects outside the tree: these may join it later.
const maxForeign = 1000

// takeEventsLocked keeps the events that a feed has reported. It reports whether any is about the tree.
func (s *Survey) takeEventsLocked(f *feed, change apiserver.Change) (ours bool) {
	if change.All {
		maps.DeleteFunc(s.events, func(name apitypes.NamespacedName, _ Event) bool { return name.Namespace == f.namespace })
	}
	for _, read := range change.Objects {
		entry, ok := read.(*corev1.Event)
		if !ok {
			continue
		}
		event, name := eventOf(entry), apitypes.NamespacedName{Namespace: f.namespace, Name: entry.Name}
		if !s.options.Events && !mayBeReason(event) {
			continue
		}
		ours = ours || s.isAboutUsLocked(event)
		if s.events[name] = event; change.Deleted {
			delete(s.events, name)
		}
	}
	return ours
}

// mayBeReason reports whether an event may say why its object is not ready. Why a claim waits is reported as Normal.
func mayBeReason(event Event) bool {
	return event.Type == corev1.EventTypeWarning || event.Object.Key().GroupKind == claims.GroupKind()
}

// takeOurEvents returns the events about the last tree, sorted by name. Of the others, it keeps only the latest.
func (s *Survey) takeOurEvents() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ours []Event
	var foreign []apitypes.NamespacedName
	for name, event := range s.events {
		if s.isAboutUsLocked(event) {
			ours = append(ours, event)
		} else {
			foreign = append(foreign, name)
		}
	}
	slices.SortFunc(foreign, func(a, b apitypes.NamespacedName) int { return s.events[b].Time.Compare(s.events[a].Time) })
	for _, name := range foreign[min(len(foreign), maxForeign):] {
		delete(s.events, name)
	}
	slices.SortFunc(ours, func(a, b Event) int { return cmp.Compare(a.Name, b.Name) })
	return ours
}

// WatchEvents passes the events of Events to tell, sorted by time, and then new events and further occurrences,
// including those about objects that are created later. It passes one note about each resource that is missing because
// the user may not read it. Neither function is called concurrently with itself. It returns nil when the context ends.
func WatchEvents(ctx context.Context, options Options, tell func(event Event), note func(note display.Note)) error {
	options.Reasons, options.Events = AllReasons, true
	note = once(note)
	seen := map[apitypes.UID]string{}
	return follow(ctx, options, func(s *Survey) {
		report := s.eventReport()
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
