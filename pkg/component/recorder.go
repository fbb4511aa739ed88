// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/tools/record"

	"github.com/component-operator/runtime/internal/manifest"
)

// repetitionInterval is the time after which an event that has not changed is sent again.
const repetitionInterval = 5 * time.Minute

// newsRecorder drops an event if it equals the last event about the same object. It is safe for concurrent use.
type newsRecorder struct {
	next record.EventRecorder
	mu   sync.Mutex
	// last has the digest of the last event, by object.
	last *cache.Expiring
}

func newNewsRecorder(next record.EventRecorder) *newsRecorder {
	return &newsRecorder{next: next, last: cache.NewExpiring()}
}

// Event sends the event if it is new.
func (r *newsRecorder) Event(object runtime.Object, eventType, reason, message string) {
	r.AnnotatedEventf(object, nil, eventType, reason, "%s", message)
}

// Eventf formats the event, and sends it if it is new.
func (r *newsRecorder) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	r.AnnotatedEventf(object, nil, eventType, reason, format, args...)
}

// AnnotatedEventf formats the event, and sends it if it is new; annotations are part of the comparison.
func (r *newsRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, args ...any) {
	if message := fmt.Sprintf(format, args...); r.isNew(object, eventType, reason, message, annotations) {
		r.next.AnnotatedEventf(object, annotations, eventType, reason, "%s", message)
	}
}

func (r *newsRecorder) isNew(object runtime.Object, eventType, reason, message string, annotations map[string]string) bool {
	content, err := manifest.Digest([]any{eventType, reason, message, annotations})
	about, accessErr := meta.Accessor(object)
	if err != nil || accessErr != nil {
		return true
	}
	key := fmt.Sprintf("%s %s/%s %s", object.GetObjectKind().GroupVersionKind().Kind, about.GetNamespace(), about.GetName(), about.GetUID())
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, known := r.last.Get(key); known && last == content {
		return false
	}
	r.last.Set(key, content, repetitionInterval)
	return true
}
