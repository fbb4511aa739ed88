// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/component-operator/runtime/internal/events"
)

func object(uid string) runtime.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: types.UID(uid)}}
}

func drain(sink *record.FakeRecorder) []string {
	var sent []string
	for {
		select {
		case event := <-sink.Events:
			sent = append(sent, event)
		default:
			return sent
		}
	}
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		events func(recorder *events.Recorder, clock *clocktesting.FakePassiveClock)
		want   []string
	}{
		{
			reason: "a repetition is dropped, however it was put together",
			events: func(recorder *events.Recorder, _ *clocktesting.FakePassiveClock) {
				recorder.Event(object("1"), "Normal", "Ready", "all 3 ready")
				recorder.Eventf(object("1"), "Normal", "Ready", "all %d ready", 3)
				recorder.AnnotatedEventf(object("1"), nil, "Normal", "Ready", "all %d ready", 3)
			},
			want: []string{"Normal Ready all 3 ready"},
		},
		{
			reason: "what counts is the last event: going back and forth is news",
			events: func(recorder *events.Recorder, _ *clocktesting.FakePassiveClock) {
				recorder.Event(object("1"), "Normal", "A", "a")
				recorder.Event(object("1"), "Normal", "B", "b")
				recorder.Event(object("1"), "Normal", "A", "a")
			},
			want: []string{"Normal A a", "Normal B b", "Normal A a"},
		},
		{
			reason: "type, reason, message and annotations all count, and so does where one ends and the next begins",
			events: func(recorder *events.Recorder, _ *clocktesting.FakePassiveClock) {
				recorder.Event(object("1"), "Normal", "A", "b")
				recorder.Event(object("1"), "Warning", "A", "b")
				recorder.Event(object("1"), "Warning", "Ab", "")
				recorder.AnnotatedEventf(object("1"), map[string]string{"k": "v"}, "Warning", "Ab", "")
			},
			want: []string{"Normal A b", "Warning A b", "Warning Ab ", "Warning Ab  map[k:v]"},
		},
		{
			reason: "objects do not disturb each other",
			events: func(recorder *events.Recorder, _ *clocktesting.FakePassiveClock) {
				recorder.Event(object("1"), "Normal", "A", "1")
				recorder.Event(object("2"), "Normal", "A", "2")
				recorder.Event(object("1"), "Normal", "A", "1")
				recorder.Event(object(""), "Normal", "A", "0")
				recorder.Event(object(""), "Normal", "A", "0")
			},
			want: []string{"Normal A 1", "Normal A 2", "Normal A 0"},
		},
		{
			reason: "an object may be given by reference",
			events: func(recorder *events.Recorder, _ *clocktesting.FakePassiveClock) {
				recorder.Event(&corev1.ObjectReference{UID: "1"}, "Normal", "A", "a")
				recorder.Event(&corev1.ObjectReference{UID: "1"}, "Normal", "A", "a")
				recorder.Event(&corev1.ObjectReference{Kind: "Web", Name: "x"}, "Normal", "A", "b")
				recorder.Event(&corev1.ObjectReference{Kind: "Web", Name: "x"}, "Normal", "A", "b")
			},
			want: []string{"Normal A a", "Normal A b"},
		},
		{
			reason: "what cannot be identified is passed on",
			events: func(recorder *events.Recorder, _ *clocktesting.FakePassiveClock) {
				recorder.Event(&metav1.Status{}, "Normal", "A", "a")
				recorder.Event(&metav1.Status{}, "Normal", "A", "a")
				recorder.Event(nil, "Normal", "A", "a")
			},
			want: []string{"Normal A a", "Normal A a", "Normal A a"},
		},
		{
			reason: "after a while it is worth saying again; being repeated meanwhile does not put that off",
			events: func(recorder *events.Recorder, clock *clocktesting.FakePassiveClock) {
				for range 11 {
					recorder.Event(object("1"), "Normal", "A", "a")
					clock.SetTime(clock.Now().Add(time.Minute))
				}
			},
			want: []string{"Normal A a", "Normal A a", "Normal A a"},
		},
		{
			reason: "a newer event is not forgotten with the older one",
			events: func(recorder *events.Recorder, clock *clocktesting.FakePassiveClock) {
				recorder.Event(object("1"), "Normal", "A", "a")
				clock.SetTime(clock.Now().Add(3 * time.Minute))
				recorder.Event(object("1"), "Normal", "B", "b")
				clock.SetTime(clock.Now().Add(3 * time.Minute))
				recorder.Event(object("1"), "Normal", "B", "b")
			},
			want: []string{"Normal A a", "Normal B b"},
		},
		{
			reason: "percent signs in a message are no directives",
			events: func(recorder *events.Recorder, _ *clocktesting.FakePassiveClock) {
				recorder.AnnotatedEventf(object("1"), nil, "Normal", "A", "%s", "100%d")
			},
			want: []string{"Normal A 100%d"},
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			sink := record.NewFakeRecorder(100)
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			test.events(events.NewRecorder(sink, events.Options{Clock: clock}), clock)
			if diff := cmp.Diff(test.want, drain(sink)); diff != "" {
				t.Errorf("unexpected events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecorderIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	sink := record.NewFakeRecorder(1000)
	recorder := events.NewRecorder(sink, events.Options{})
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 100 {
				recorder.Event(object(fmt.Sprint(worker*1000+i/10)), "Normal", "A", "a")
			}
		})
	}
	group.Wait()
	if got := len(drain(sink)); got != 80 {
		t.Errorf("%d events were sent, want one for each of 80 objects", got)
	}
}

func BenchmarkRecorder(b *testing.B) {
	for _, objects := range []int{100, 100_000} {
		b.Run(fmt.Sprint(objects), func(b *testing.B) {
			recorder := events.NewRecorder(&discard{}, events.Options{})
			for i := range objects {
				recorder.Event(object(fmt.Sprint(i)), "Normal", "A", "a")
			}
			target := object("0")
			for b.Loop() {
				recorder.Event(target, "Normal", "A", "a")
			}
		})
	}
}

type discard struct{ record.EventRecorder }

func (discard) Event(runtime.Object, string, string, string) {}
