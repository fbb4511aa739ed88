// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// recorder writes events into one cluster. It starts with the first event, since most connections never write one, and discards
// events once it is closed.
type recorder struct {
	source string
	scheme *runtime.Scheme
	sink   record.EventSink

	mu          sync.Mutex
	closed      bool
	broadcaster record.EventBroadcaster
	next        record.EventRecorder
}

var _ record.EventRecorder = (*recorder)(nil)

func newRecorder(source string, scheme *runtime.Scheme, sink record.EventSink) *recorder {
	return &recorder{source: source, scheme: scheme, sink: sink}
}

// Event writes an event.
func (r *recorder) Event(object runtime.Object, eventType string, reason string, message string) {
	if next := r.open(); next != nil {
		next.Event(object, eventType, reason, message)
	}
}

// Eventf writes an event with a formatted message.
func (r *recorder) Eventf(object runtime.Object, eventType string, reason string, format string, args ...any) {
	r.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf writes an event with annotations.
func (r *recorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType string, reason string, format string, args ...any) {
	if next := r.open(); next != nil {
		next.AnnotatedEventf(object, annotations, eventType, reason, "%s", fmt.Sprintf(format, args...))
	}
}

// open starts the broadcaster with the first event. It returns nil if the recorder is closed.
func (r *recorder) open() record.EventRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	if r.next == nil {
		r.broadcaster = record.NewBroadcaster()
		r.broadcaster.StartRecordingToSink(r.sink)
		r.next = r.broadcaster.NewRecorder(r.scheme, corev1.EventSource{Component: r.source})
	}
	return r.next
}

func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.broadcaster != nil {
		r.broadcaster.Shutdown()
	}
	r.broadcaster, r.next = nil, nil
}
