// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

func TestStates(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason  string
		phase   reconciler.Phase
		status  status.Status
		missing bool
		stays   bool
		want    display.State
		// leaving is where it is if the release is being deleted.
		leaving display.State
	}{
		{"as it should be", reconciler.PhaseReady, status.CurrentStatus, false, false, display.StateReady, display.StatePending},
		{"not ready any more", reconciler.PhaseReady, status.InProgressStatus, false, false, display.StateUnready, display.StatePending},
		{"lost", reconciler.PhaseReady, status.NotFoundStatus, true, false, display.StateUnready, display.StateGone},
		{"somebody deletes it", reconciler.PhaseReady, status.TerminatingStatus, false, false, display.StateUnready, display.StateUnready},
		{"it will not become ready", reconciler.PhaseCreating, status.FailedStatus, false, false, display.StateFailed, display.StatePending},
		{"it may not be read", reconciler.PhaseReady, status.UnknownStatus, false, false, display.StateUnready, display.StatePending},
		{"not created yet", reconciler.PhaseScheduledForApplication, status.NotFoundStatus, true, false, display.StatePending, display.StateGone},
		{"ready as it was before", reconciler.PhaseScheduledForApplication, status.CurrentStatus, false, false, display.StatePending, display.StatePending},
		{"no longer wanted", reconciler.PhaseScheduledForDeletion, status.CurrentStatus, false, false, display.StatePending, display.StatePending},
		{"on its way out", reconciler.PhaseDeleting, status.TerminatingStatus, false, false, display.StateUnready, display.StateUnready},
		{"gone, which is not recorded yet", reconciler.PhaseDeleting, status.NotFoundStatus, true, false, display.StateGone, display.StateGone},
		{"it has served its purpose", reconciler.PhaseCompleted, display.StatusCompleted, false, false, display.StateCompleted, display.StateCompleted},
		{"it has failed, and was removed", reconciler.PhaseFailed, status.NotFoundStatus, true, false, display.StateFailed, display.StateGone},
		{"somebody else has it", reconciler.PhaseReady, display.StatusStolen, false, false, display.StateUnready, display.StateStays},
		{"it is going to be taken over", reconciler.PhaseScheduledForApplication, display.StatusStolen, false, false, display.StatePending, display.StateStays},
		{"its delete policy keeps it", reconciler.PhaseReady, status.CurrentStatus, false, true, display.StateReady, display.StateStays},
	} {
		item := &reconciler.InventoryItem{Phase: test.phase, Digest: "new"}
		if test.stays {
			item.DeletePolicy = reconciler.DeletePolicyOrphan
		}
		node := &display.Node{Dependent: display.Dependent{Status: test.status, Phase: test.phase}, Missing: test.missing, Item: item}
		if got := stateOf(node, releases.ReconcilerName); got != test.want {
			t.Errorf("%s: got %s, wanted %s", test.reason, got, test.want)
		}
		if got := stateInDeletion(node, false); got != test.leaving {
			t.Errorf("%s, while the release is being deleted: got %s, wanted %s", test.reason, got, test.leaving)
		}
	}
}

// TestStatesOfWhatLostItsLabel is about the recorded object, from which merely the label was removed: it goes with the
// release.
func TestStatesOfWhatLostItsLabel(t *testing.T) {
	t.Parallel()
	item := &reconciler.InventoryItem{Phase: reconciler.PhaseReady, UID: "u"}
	for _, test := range []struct {
		reason string
		uid    apitypes.UID
		label  string
		want   display.State
	}{
		{"the recorded object", "u", "", display.StatePending},
		{"another object of that name", "v", "", display.StateStays},
		{"somebody else has it", "u", "x", display.StateStays},
	} {
		node := &display.Node{Dependent: display.Dependent{Status: display.StatusStolen, Phase: item.Phase}, Item: item}
		owner := releases.OwnerOf(&metav1.ObjectMeta{UID: test.uid, Labels: map[string]string{releases.Label: test.label}})
		if got := stateInDeletion(node, owner.LostLabel(item)); got != test.want {
			t.Errorf("%s: got %s, wanted %s", test.reason, got, test.want)
		}
	}
}

// TestJobsMayRemoveThemselves has objects be gone that are recorded.
func TestJobsMayRemoveThemselves(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, version, kind string
		phase                 reconciler.Phase
		missing               bool
		want                  display.State
	}{
		{"it was complete", "batch/v1", "Job", reconciler.PhaseReady, true, display.StateReady},
		{"it was not", "batch/v1", "Job", reconciler.PhaseCreating, true, display.StateUnready},
		{"others do not remove themselves", "v1", "Pod", reconciler.PhaseReady, true, display.StateUnready},
		{"it is there, and unknown", "batch/v1", "Job", reconciler.PhaseReady, false, display.StateUnready},
	} {
		object := display.Object{APIVersion: test.version, Kind: test.kind}
		node := &display.Node{Dependent: display.Dependent{Object: object, Status: status.NotFoundStatus, Phase: test.phase}, Missing: test.missing, Item: &reconciler.InventoryItem{}}
		recognizeFinished(node)
		if got := stateOf(node, releases.ReconcilerName); got != test.want {
			t.Errorf("%s: got %s, wanted %s", test.reason, got, test.want)
		}
	}
}

func TestReadyAndProblems(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	dependent := func(name string, state display.State, node display.Node) *display.Node {
		node.Object, node.State = display.Object{APIVersion: "v1", Kind: "Pod", Name: name}, state
		return &node
	}
	below := display.Node{Created: at(1), Children: []*display.Node{{Why: []display.Reason{{Since: at(20)}, {Since: at(10)}}}}}
	s := &Snapshot{Release: &releases.Release{State: releases.StateReady}, Dependents: []*display.Node{
		dependent("ready", display.StateReady, display.Node{Created: at(0)}),
		dependent("young", display.StateUnready, display.Node{Created: at(15)}),
		dependent("old", display.StateFailed, below),
		dependent("lost", display.StateUnready, display.Node{Missing: true}),
	}}
	var names []string
	for _, problem := range s.Problems() {
		names = append(names, problem.Name)
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
	of := func(phase reconciler.Phase, state display.State) *display.Node {
		return &display.Node{Dependent: display.Dependent{Phase: phase, State: state}}
	}
	for _, test := range []struct {
		reason     string
		state      releases.State
		revisions  []releases.Revision
		holder     *releases.Holder
		silent     bool
		dependents []*display.Node
		want       bool
		ready      bool
	}{
		{"all is ready", releases.StateApplying, revision, nil, false, []*display.Node{of(reconciler.PhaseReady, display.StateReady), of(reconciler.PhaseCompleted, display.StateCompleted)}, true, true},
		{"written, and judged by nobody", releases.StateApplying, revision, nil, false, []*display.Node{of(reconciler.PhaseScheduledForApplication, display.StateReady)}, true, true},
		{"not ready yet", releases.StateApplying, revision, nil, false, []*display.Node{of(reconciler.PhaseCreating, display.StateUnready)}, true, false},
		{"nothing at all", releases.StateApplying, revision, nil, false, nil, true, true},
		{"whoever worked on it is dead", releases.StateApplying, revision, &releases.Holder{}, true, nil, true, true},
		{"somebody works on it", releases.StateApplying, revision, &releases.Holder{}, false, nil, false, false},
		{"a record that was restored has no revision", releases.StateApplying, nil, nil, false, nil, false, false},
		{"not written yet", releases.StateApplying, revision, nil, false, []*display.Node{of(reconciler.PhaseScheduledForApplication, display.StatePending)}, false, false},
		{"to be deleted", releases.StateApplying, revision, nil, false, []*display.Node{of(reconciler.PhaseScheduledForDeletion, display.StatePending)}, false, false},
		{"being deleted", releases.StateApplying, revision, nil, false, []*display.Node{of(reconciler.PhaseDeleting, display.StateUnready)}, false, false},
		{"deleted, which is not recorded yet", releases.StateApplying, revision, nil, false, []*display.Node{of(reconciler.PhaseDeleting, display.StateGone)}, true, true},
		{"it has failed", releases.StateFailed, revision, nil, false, nil, false, false},
		{"it is being deleted", releases.StateDeleting, revision, nil, false, nil, false, false},
	} {
		s := &Snapshot{Release: &releases.Release{State: test.state, Revisions: test.revisions}, Holder: test.holder, Silent: test.silent, Dependents: test.dependents}
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
		s := &Snapshot{Holder: test.holder, deadline: test.deadline}
		s.checkHolder(now)
		if s.Silent != test.silent || s.deadline != test.want {
			t.Errorf("%s: got %t, %s", test.reason, s.Silent, s.deadline)
		}
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
