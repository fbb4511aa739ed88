// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/clm/internal/inspect"
	"github.com/component-operator/runtime/clm/internal/ownership"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		phase   reconciler.Phase
		status  status.Status
		missing bool
		stays   bool
		want    Place
		// leaving is where it is if the release is being deleted.
		leaving Place
	}{
		{"as it should be", reconciler.PhaseReady, status.CurrentStatus, false, false, PlaceReady, PlacePending},
		{"not ready any more", reconciler.PhaseReady, status.InProgressStatus, false, false, PlaceUnready, PlacePending},
		{"lost", reconciler.PhaseReady, status.NotFoundStatus, true, false, PlaceUnready, PlaceGone},
		{"somebody deletes it", reconciler.PhaseReady, status.TerminatingStatus, false, false, PlaceUnready, PlaceUnready},
		{"it will not become ready", reconciler.PhaseCreating, status.FailedStatus, false, false, PlaceFailed, PlacePending},
		{"it may not be read", reconciler.PhaseReady, status.UnknownStatus, false, false, PlaceUnready, PlacePending},
		{"not created yet", reconciler.PhaseScheduledForApplication, status.NotFoundStatus, true, false, PlacePending, PlaceGone},
		{"ready as it was before", reconciler.PhaseScheduledForApplication, status.CurrentStatus, false, false, PlacePending, PlacePending},
		{"no longer wanted", reconciler.PhaseScheduledForDeletion, status.CurrentStatus, false, false, PlacePending, PlacePending},
		{"on its way out", reconciler.PhaseDeleting, status.TerminatingStatus, false, false, PlaceUnready, PlaceUnready},
		{"gone, which is not recorded yet", reconciler.PhaseDeleting, status.NotFoundStatus, true, false, PlaceGone, PlaceGone},
		{"it has served its purpose", reconciler.PhaseCompleted, inspect.Completed, false, false, PlaceCompleted, PlaceCompleted},
		{"it has failed, and was removed", reconciler.PhaseFailed, status.NotFoundStatus, true, false, PlaceFailed, PlaceGone},
		{"somebody else has it", reconciler.PhaseReady, inspect.Stolen, false, false, PlaceUnready, PlaceStays},
		{"it is going to be taken over", reconciler.PhaseScheduledForApplication, inspect.Stolen, false, false, PlacePending, PlaceStays},
		{"its delete policy keeps it", reconciler.PhaseReady, status.CurrentStatus, false, true, PlaceReady, PlaceStays},
	} {
		item := &reconciler.InventoryItem{Phase: test.phase, Digest: "new"}
		if test.stays {
			item.DeletePolicy = reconciler.DeletePolicyOrphan
		}
		node := &inspect.Node{Status: test.status, Missing: test.missing}
		if got := placeOf(item, node); got != test.want {
			t.Errorf("%s: got %s, wanted %s", test.reason, got, test.want)
		}
		if got := placeInDeletion(item, node, false); got != test.leaving {
			t.Errorf("%s, while the release is being deleted: got %s, wanted %s", test.reason, got, test.leaving)
		}
	}
}

// TestPlacesOfWhatLostItsLabel is about the recorded object, from which merely the label was removed: it goes with the release.
func TestPlacesOfWhatLostItsLabel(t *testing.T) {
	t.Parallel()
	item := &reconciler.InventoryItem{Phase: reconciler.PhaseReady, UID: "u"}
	for _, test := range []struct {
		reason string
		owner  ownership.Mark
		want   Place
	}{
		{"the recorded object", ownership.NewMark("", "", "u"), PlacePending},
		{"another object of that name", ownership.NewMark("", "", "v"), PlaceStays},
		{"somebody else has it", ownership.NewMark("x", "", "u"), PlaceStays},
	} {
		if got := placeInDeletion(item, &inspect.Node{Status: inspect.Stolen}, test.owner.LostLabel(item)); got != test.want {
			t.Errorf("%s: got %s, wanted %s", test.reason, got, test.want)
		}
	}
}

// TestJobsMayRemoveThemselves has objects be gone that are recorded.
func TestJobsMayRemoveThemselves(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, group, kind string
		phase               reconciler.Phase
		missing             bool
		want                Place
	}{
		{"it was complete", "batch", "Job", reconciler.PhaseReady, true, PlaceReady},
		{"it was not", "batch", "Job", reconciler.PhaseCreating, true, PlaceUnready},
		{"others do not remove themselves", "", "Pod", reconciler.PhaseReady, true, PlaceUnready},
		{"it is there, and unknown", "batch", "Job", reconciler.PhaseReady, false, PlaceUnready},
	} {
		item := &reconciler.InventoryItem{Phase: test.phase}
		item.Group, item.Kind = test.group, test.kind
		node := &inspect.Node{Status: status.NotFoundStatus, Missing: test.missing}
		recognizeFinished(item, node)
		if got := placeOf(item, node); got != test.want {
			t.Errorf("%s: got %s, wanted %s", test.reason, got, test.want)
		}
	}
}

func TestReadyAndProblems(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	dependent := func(name string, place Place, node inspect.Node) Dependent {
		node.Object = inspect.Object{APIVersion: "v1", Kind: "Pod", Name: name}
		return Dependent{Node: &node, Place: place}
	}
	below := inspect.Node{Created: at(1), Children: []*inspect.Node{{Why: []inspect.Reason{{Since: at(20)}, {Since: at(10)}}}}}
	s := &Standing{Release: &releases.Release{State: releases.StateReady}, Dependents: []Dependent{
		dependent("ready", PlaceReady, inspect.Node{Created: at(0)}),
		dependent("young", PlaceUnready, inspect.Node{Created: at(15)}),
		dependent("old", PlaceFailed, below),
		dependent("lost", PlaceUnready, inspect.Node{Missing: true}),
	}}
	var names []string
	for _, problem := range s.Problems() {
		names = append(names, problem.Object.Name)
	}
	if diff := cmp.Diff([]string{"lost", "old", "young"}, names); diff != "" {
		t.Errorf("the oldest problem should come first, that of unknown age before (-want +got):\n%s", diff)
	}
	if s.Ready() {
		t.Error("a release is not ready if its dependents are not")
	}
	s.Dependents = s.Dependents[:1]
	if !s.Ready() {
		t.Error("a release is ready if all its dependents are")
	}
	s.Release.State = releases.StateFailed
	if s.Ready() {
		t.Error("a release is not ready if applying it has failed")
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	revision := []releases.Revision{{Number: 1}}
	of := func(phase reconciler.Phase, place Place) Dependent {
		return Dependent{Node: &inspect.Node{}, Item: &reconciler.InventoryItem{Phase: phase}, Place: place}
	}
	for _, test := range []struct {
		reason     string
		state      releases.State
		revisions  []releases.Revision
		holder     *releases.Holder
		silent     bool
		dependents []Dependent
		want       bool
		ready      bool
	}{
		{"all is ready", releases.StateApplying, revision, nil, false, []Dependent{of(reconciler.PhaseReady, PlaceReady), of(reconciler.PhaseCompleted, PlaceCompleted)}, true, true},
		{"written, and judged by nobody", releases.StateApplying, revision, nil, false, []Dependent{of(reconciler.PhaseScheduledForApplication, PlaceReady)}, true, true},
		{"not ready yet", releases.StateApplying, revision, nil, false, []Dependent{of(reconciler.PhaseCreating, PlaceUnready)}, true, false},
		{"nothing at all", releases.StateApplying, revision, nil, false, nil, true, true},
		{"whoever worked on it is dead", releases.StateApplying, revision, &releases.Holder{}, true, nil, true, true},
		{"somebody works on it", releases.StateApplying, revision, &releases.Holder{}, false, nil, false, false},
		{"a record that was restored has no revision", releases.StateApplying, nil, nil, false, nil, false, false},
		{"not written yet", releases.StateApplying, revision, nil, false, []Dependent{of(reconciler.PhaseScheduledForApplication, PlacePending)}, false, false},
		{"to be deleted", releases.StateApplying, revision, nil, false, []Dependent{of(reconciler.PhaseScheduledForDeletion, PlacePending)}, false, false},
		{"being deleted", releases.StateApplying, revision, nil, false, []Dependent{of(reconciler.PhaseDeleting, PlaceUnready)}, false, false},
		{"deleted, which is not recorded yet", releases.StateApplying, revision, nil, false, []Dependent{of(reconciler.PhaseDeleting, PlaceGone)}, true, true},
		{"it has failed", releases.StateFailed, revision, nil, false, nil, false, false},
		{"it is being deleted", releases.StateDeleting, revision, nil, false, nil, false, false},
	} {
		s := &Standing{Release: &releases.Release{State: test.state, Revisions: test.revisions}, Holder: test.holder, Silent: test.silent, Dependents: test.dependents}
		if s.Complete() != test.want || s.Ready() != test.ready {
			t.Errorf("%s: got %t, %t", test.reason, s.Complete(), s.Ready())
		}
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		reason   string
		holder   *releases.Holder
		deadline time.Duration
		silent   bool
		want     time.Duration
	}{
		{"nobody works on it", nil, 0, false, 0},
		{"whoever works on it may die", &releases.Holder{Renewed: now.Add(-5 * time.Second), Validity: 15 * time.Second}, 0, false, 15 * time.Second},
		{"something else is due earlier", &releases.Holder{Renewed: now, Validity: 15 * time.Second}, time.Second, false, time.Second},
		{"clocks differ", &releases.Holder{Renewed: now.Add(-29 * time.Second), Validity: 15 * time.Second}, 0, false, 15 * time.Second},
		{"it seems to be dead", &releases.Holder{Renewed: now.Add(-31 * time.Second), Validity: 15 * time.Second}, 0, true, 0},
	} {
		s := &Standing{Holder: test.holder, deadline: test.deadline}
		s.listen(now)
		if s.Silent != test.silent || s.deadline != test.want {
			t.Errorf("%s: got %t, %s", test.reason, s.Silent, s.deadline)
		}
	}
}
