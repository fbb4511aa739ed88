// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
