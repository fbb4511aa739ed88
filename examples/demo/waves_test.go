// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	parceloperator "github.com/component-operator/runtime/examples/parcel-operator"
)

// A happening is a short form of an event: the object's name, its order, and what happened to it.
type happening struct {
	name, order string
	what        string // created, ready, deleting, gone
}

// event returns the happening as an event with that revision.
func (h happening) event(revision int64) event {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetKind("Thing")
	object.SetName(h.name)
	object.SetUID(apitypes.UID("uid of " + h.name))
	if h.order != "" {
		object.SetAnnotations(map[string]string{
			parceloperator.Name + "/apply-order":  h.order,
			parceloperator.Name + "/delete-order": h.order,
		})
	}
	if h.what == "deleting" {
		object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(revision, 0)})
	}
	object.SetLabels(map[string]string{"what": h.what})
	return event{revision: revision, deleted: h.what == "gone", object: object}
}

func isReadyThing(object *unstructured.Unstructured) bool {
	return object.GetLabels()["what"] == "ready"
}

func TestWaves(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason     string
		deletion   bool
		happenings []happening
		orders     []int
		want       string // part of the error
	}{
		"InOrder": {
			reason:     "the second wave begins after all of the first is ready",
			happenings: []happening{{"a", "-1", "created"}, {"b", "-1", "created"}, {"a", "-1", "ready"}, {"b", "-1", "ready"}, {"c", "", "ready"}},
			orders:     []int{-1, 0},
		},
		"TooEarly": {
			reason:     "one object of the first wave is not ready when the second begins",
			happenings: []happening{{"a", "-1", "created"}, {"b", "-1", "created"}, {"a", "-1", "ready"}, {"c", "", "ready"}, {"b", "-1", "ready"}},
			orders:     []int{-1, 0},
			want:       "wave 0 began with Thing c at revision 4, before wave -1 ended with Thing b at revision 5",
		},
		"NeverReady": {
			reason:     "an object that was never seen ready is not finished",
			happenings: []happening{{"a", "", "created"}, {"b", "", "ready"}},
			orders:     []int{0},
			want:       "1 of 2 objects of wave 0 were never finished",
		},
		"ReadyOnce": {
			reason:     "an object that was ready and is updated later does not count again",
			happenings: []happening{{"a", "", "ready"}, {"b", "1", "ready"}, {"a", "", "created"}, {"a", "", "ready"}},
			orders:     []int{0, 1},
		},
		"DeletedInOrder": {
			reason:     "an object with a finalizer is deleted in two steps, one without in a single one",
			deletion:   true,
			happenings: []happening{{"a", "0", "deleting"}, {"b", "0", "gone"}, {"c", "1", "ready"}, {"a", "0", "gone"}, {"c", "1", "gone"}},
			orders:     []int{0, 1},
		},
		"DeletedTooEarly": {
			reason:     "the deletion of the second wave is asked for while an object of the first is still there",
			deletion:   true,
			happenings: []happening{{"a", "0", "deleting"}, {"c", "1", "deleting"}, {"a", "0", "gone"}, {"c", "1", "gone"}},
			orders:     []int{0, 1},
			want:       "before wave 0 ended with Thing a",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var events []event
			for i, h := range tc.happenings {
				events = append(events, h.event(int64(i+1)))
			}
			waves := appliedWaves(events, isReadyThing)
			if tc.deletion {
				waves = deletedWaves(events)
			}
			var orders []int
			for _, w := range waves {
				orders = append(orders, w.order)
			}
			if diff := cmp.Diff(tc.orders, orders); diff != "" {
				t.Errorf("%s: orders (-want +got):\n%s", tc.reason, diff)
			}
			got := ""
			if err := checkSequence(waves); err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got error %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
