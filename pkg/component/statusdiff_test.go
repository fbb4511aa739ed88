// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"testing"

	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestWhatOthersRemoveWasNotPruned is about fields of the status that the component's own type adds.
func TestWhatOthersRemoveWasNotPruned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.bareWorker(newWidget, "Widget")
	events := record.NewFakeRecorder(10)
	w.announcer.events = events
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
	s := r.begin(w, widget)
	change("")
	s.status.SetState(StateProcessing, "A", "a")
	if err := s.record.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	version := widget.ResourceVersion
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(widget), widget); err != nil || widget.ResourceVersion == version {
		t.Fatalf("want the status to be written, got %v", err)
	}
	version = widget.ResourceVersion
	if err := s.record.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	diff(t, "version after the same was saved again", version, s.component.GetResourceVersion())
	select {
	case event := <-events.Events:
		t.Errorf("want the definition not to be blamed, got %s", event)
	default:
	}
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(widget), widget); err != nil {
		t.Fatal(err)
	}
	diff(t, "field", "", widget.Status.Extra)
}
