// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestRepeatedEvents: of equal events about an object, only the first is sent, until another one follows, or some
// minutes are over.
func TestRepeatedEvents(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	sink := record.NewFakeRecorder(100)
	recorder := newNewsRecorder(sink)
	recorder.last = cache.NewExpiringWithClock(clock)
	about := func(uid string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: apitypes.UID(uid)}}
	}
	recorder.Event(about("1"), "Normal", "Ready", "100%d")
	recorder.Eventf(about("1"), "Normal", "Ready", "%s", "100%d")
	recorder.Event(about("2"), "Normal", "Ready", "100%d")
	recorder.Event(about("1"), "Warning", "Ready", "100%d")
	recorder.AnnotatedEventf(about("1"), map[string]string{"k": "v"}, "Warning", "Ready", "100%%d")
	for range 6 {
		recorder.Event(about("1"), "Normal", "A", "a")
		clock.Step(time.Minute)
	}
	recorder.Event(nil, "Normal", "A", "a")
	recorder.Event(nil, "Normal", "A", "a")
	diff(t, "events", []string{
		"Normal Ready 100%d", "Normal Ready 100%d", "Warning Ready 100%d", "Warning Ready 100%d map[k:v]", "Normal A a", "Normal A a", "Normal A a", "Normal A a",
	}, (&stage{events: sink}).drain())
}
