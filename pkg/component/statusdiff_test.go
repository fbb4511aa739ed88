// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestMergePatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, from, to, want string
	}{
		{"nothing changed", `{"a": 1, "b": [1]}`, `{"a": 1, "b": [1]}`, `{}`},
		{"something came, changed, and went", `{"a": 1, "b": 1}`, `{"a": 2, "c": 3}`, `{"a": 2, "b": null, "c": 3}`},
		{"lists are replaced", `{"a": [1, 2]}`, `{"a": [2]}`, `{"a": [2]}`},
		{"maps are merged", `{"a": {"b": 1, "c": 2}}`, `{"a": {"b": 1, "d": 3}}`, `{"a": {"c": null, "d": 3}}`},
		{"a map becomes a value", `{"a": {"b": 1}}`, `{"a": 1}`, `{"a": 1}`},
		{"a value becomes a map", `{"a": 1}`, `{"a": {"b": 1}}`, `{"a": {"b": 1}}`},
		{"everything is new", `{}`, `{"a": {"b": []}}`, `{"a": {"b": []}}`},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			patch := mergePatch(decoded(t, test.from), decoded(t, test.to))
			diff(t, "patch", decoded(t, test.want), patch)
			raw, err := json.Marshal(patch)
			if err != nil {
				t.Fatal(err)
			}
			merged, err := jsonpatch.MergePatch([]byte(test.from), raw)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "patched value", decoded(t, test.to), decoded(t, string(merged)))
		})
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
			diff(t, "dropped", test.want, dropped(decoded(t, test.sent), decoded(t, test.received), "status"))
		})
	}
}

func TestSameStatus(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, a, b string
		want         bool
	}{
		{"times of observation do not count", `{"state": "Ready", "lastObservedAt": "a"}`, `{"state": "Ready", "lastObservedAt": "b", "lastAppliedAt": "c"}`, true},
		{"other times do", `{"processingSince": "a"}`, `{"processingSince": "b"}`, false},
		{"states do", `{"state": "Ready"}`, `{"state": "Error"}`, false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			diff(t, "same", test.want, sameStatus(decoded(t, test.a), decoded(t, test.b)))
		})
	}
	if !sameStatus(nil, map[string]any{}) {
		t.Error("no status and an empty one are the same")
	}
}

func TestStatusSurvivesTheRoundTrip(t *testing.T) {
	t.Parallel()
	widget := &Widget{}
	widget.Status.Revision = 1<<62 + 1
	widget.Status.Extra = "kept"
	status, err := statusOf(widget)
	if err != nil {
		t.Fatal(err)
	}
	restored := &Widget{}
	restored.Status.State = StateError
	if err := setStatus(restored, status); err != nil {
		t.Fatal(err)
	}
	diff(t, "status", widget.Status, restored.Status)
}

// TestWhatOthersRemoveWasNotPruned is about fields of the status that the component's own type adds.
func TestWhatOthersRemoveWasNotPruned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.bareWorker(newWidget, "Widget")
	widget := r.widget("")
	r.create(widget)
	change := func(extra string) {
		t.Helper()
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(widget), widget); err != nil {
			t.Fatal(err)
		}
		widget.Status.Extra = extra
		if err := r.client.Status().Update(t.Context(), widget); err != nil {
			t.Fatal(err)
		}
	}
	change("theirs")
	s := r.scope(w, widget)
	change("")
	s.status.SetState(StateProcessing, "A", "a")
	if err := w.save(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if len(s.memory.complained) > 0 || s.memory.sent != nil {
		t.Errorf("want the definition not to be blamed, got %v", s.memory.complained)
	}
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(widget), widget); err != nil {
		t.Fatal(err)
	}
	diff(t, "field", "", widget.Status.Extra)
}
