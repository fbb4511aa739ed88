// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestStatusSurvivesTheRoundTrip(t *testing.T) {
	t.Parallel()
	original := &corev1.Pod{Status: corev1.PodStatus{ObservedGeneration: 1<<62 + 1, Message: "kept"}}
	status, err := StatusOf(original)
	if err != nil {
		t.Fatal(err)
	}
	restored := &corev1.Pod{Status: corev1.PodStatus{Reason: "replaced"}}
	clnt := &Client{ClearStatus: func(object client.Object) { object.(*corev1.Pod).Status = corev1.PodStatus{} }}
	if err := clnt.setStatus(restored, status); err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(original.Status, restored.Status); difference != "" {
		t.Errorf("status (-want +got):\n%s", difference)
	}
}

// plain has a status where most types have it, marshalling encodes itself, and inlined has its status elsewhere.
type (
	plain struct {
		corev1.Pod `json:",inline"`
		Status     *corev1.PodStatus `json:"status,omitempty"`
		Spec       unencodable       `json:"spec"`
	}
	marshalling struct {
		corev1.Pod
		Status string `json:"status"`
	}
	inlined struct {
		corev1.Pod `json:",inline"`
	}
	unencodable struct{}
)

func (unencodable) MarshalJSON() ([]byte, error) { return nil, errors.New("must not be encoded") }

func (m *marshalling) MarshalJSON() ([]byte, error) {
	return []byte(`{"status":{"message":"by itself"}}`), nil
}

// TestStatusIsFound in whatever form a type has it, and nothing else is encoded if the type has a field for it.
func TestStatusIsFound(t *testing.T) {
	t.Parallel()
	pod := corev1.Pod{Status: corev1.PodStatus{Message: "inlined"}}
	for reason, tc := range map[string]struct {
		component client.Object
		want      any
	}{
		"a field":                  {&plain{Status: &corev1.PodStatus{Message: "a field"}}, "a field"},
		"a field that is nil":      {&plain{}, nil},
		"a type encodes itself":    {&marshalling{Status: "not this"}, "by itself"},
		"a field of a part":        {&inlined{Pod: pod}, "inlined"},
		"an object without a type": {&unstructured.Unstructured{Object: map[string]any{"kind": "A", "status": map[string]any{"message": "untyped"}}}, "untyped"},
	} {
		status, err := StatusOf(tc.component)
		if err != nil || status["message"] != tc.want {
			t.Errorf("%s: got %v, %v, want the message %v", reason, status, err, tc.want)
		}
	}
}

func TestDropped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, sent, received string
		want                   []string
	}{
		{"all came back", `{"a": [{"b": 1}]}`, `{"a": [{"b": 1}], "default": 2}`, nil},
		{"each field is named once", `{"a": [{"b": 1, "c": 2}, {"b": 1}], "d": {"e": 1}}`, `{"a": [{"c": 2}, {}], "d": {}}`, []string{"status.a[].b", "status.d.e"}},
		{"a whole branch is named by its root", `{"a": {"b": {"c": 1}}}`, `{"a": {}}`, []string{"status.a.b"}},
		{"null is nothing", `{"a": null}`, `{}`, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			expect(t, "dropped", sets.New(test.want...), Dropped(decoded(t, test.sent), decoded(t, test.received), "status"))
		})
	}
}

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
