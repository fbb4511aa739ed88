// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestExpiredWatchesResume has the server end a watch in order. What changes meanwhile is not lost, and the next watch
// lasts.
func TestExpiredWatchesResume(t *testing.T) {
	t.Parallel()
	watches := &streams{resource: "configmaps"}
	w := newWorld(t, watches.through)
	w.watch("o", need(configMaps, w.namespace))
	object := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	}
	before := w.written("o", "changed", "1")
	w.written("o", "removed", "1")
	w.quiet()

	watches.expire(t)
	if seen, view := w.get("changed"); view != observe.Present || seen != before {
		t.Errorf("what was seen is expected to stay until the next watch, got %+v, %v", seen, view)
	}
	w.patch(object("changed"), `{"data":{"value":"2"}}`)
	w.remove(object("removed"))
	testenv.Eventually(t, func() (bool, string) {
		seen, _ := w.get("changed")
		_, view := w.get("removed")
		return seen.ResourceVersion != before.ResourceVersion && view == observe.Absent, "what has happened meanwhile was not seen"
	})
	w.quiet()
}
