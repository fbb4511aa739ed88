// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/internal/digest"
)

// DefaultExpiry is the default of Options.Expiry.
const DefaultExpiry = 5 * time.Minute

// Options configure a Recorder.
type Options struct {
	// Expiry is the time after which an event that has not changed is sent again. Defaults to DefaultExpiry.
	Expiry time.Duration
	// Clock defaults to the real time.
	Clock clock.PassiveClock
}

// Recorder drops an event if it equals the last event about the same object. It is
// safe for concurrent use. Its cost for an event does not depend on the number of objects.
type Recorder struct {
	next   record.EventRecorder
	expiry time.Duration
	clock  clock.PassiveClock

	mu sync.Mutex
	// last holds the digest of the last event by object, until it expires.
	last map[string]sent
	// order lists the events that were sent, oldest first. An item is void if its object has had a later event.
	order []item
}

var _ record.EventRecorder = (*Recorder)(nil)

type sent struct {
	digest string
	at     time.Time
}

type item struct {
	object string
	at     time.Time
}

// NewRecorder returns a Recorder that passes new events on to next.
func NewRecorder(next record.EventRecorder, options Options) *Recorder {
	if options.Expiry <= 0 {
		options.Expiry = DefaultExpiry
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Recorder{
		next:   next,
		expiry: options.Expiry,
		clock:  options.Clock,
		last:   map[string]sent{},
	}
}

// Event sends the event if it is new.
func (r *Recorder) Event(object runtime.Object, eventType string, reason string, message string) {
	if r.isNew(object, eventType, reason, message, nil) {
		r.next.Event(object, eventType, reason, message)
	}
}

// Eventf formats the event, and sends it if it is new.
func (r *Recorder) Eventf(object runtime.Object, eventType string, reason string, format string, args ...any) {
	r.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf formats the event, and sends it if it is new; annotations are part of the comparison.
func (r *Recorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType string, reason string, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if r.isNew(object, eventType, reason, message, annotations) {
		r.next.AnnotatedEventf(object, annotations, eventType, reason, "%s", message)
	}
}

func (r *Recorder) isNew(object runtime.Object, eventType string, reason string, message string, annotations map[string]string) bool {
	key := keyOf(object)
	content, err := digest.Of([]any{eventType, reason, message, annotations})
	if key == "" || err != nil {
		return true
	}
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(now)
	if r.last[key].digest == content {
		return false
	}
	r.last[key] = sent{digest: content, at: now}
	r.order = append(r.order, item{object: key, at: now})
	return true
}

// expire forgets old events. Each item is appended once and removed once, so the cost of an event
// is constant over time.
func (r *Recorder) expire(now time.Time) {
	for len(r.order) > 0 && now.Sub(r.order[0].at) >= r.expiry {
		if oldest := r.order[0]; r.last[oldest.object].at.Equal(oldest.at) {
			delete(r.last, oldest.object)
		}
		r.order = r.order[1:]
	}
}

// keyOf returns the identity of the object, or nothing if it has none.
func keyOf(object runtime.Object) string {
	if object == nil {
		return ""
	}
	if reference, ok := object.(*corev1.ObjectReference); ok {
		if reference.UID != "" {
			return string(reference.UID)
		}
		return fmt.Sprintf("%s %s/%s", reference.Kind, reference.Namespace, reference.Name)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	if accessor.GetUID() != "" {
		return string(accessor.GetUID())
	}
	return fmt.Sprintf("%s %s/%s", object.GetObjectKind().GroupVersionKind().Kind, accessor.GetNamespace(), accessor.GetName())
}
