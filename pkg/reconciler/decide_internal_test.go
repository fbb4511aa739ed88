// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/status"
)

const (
	usLabel   = "us"
	themLabel = "them"
	wave      = 7
)

// wish is a target with the default behaviour, changed by the given functions.
func wish(changes ...func(*target)) *target {
	t := &target{digest: "new"}
	named("v1", "ConfigMap", "default", "a")(t)
	t.adoption, t.reconcile, t.update, t.delete = AdoptionPolicyIfUnowned, ReconcilePolicyOnObjectChange, UpdatePolicyReplace, DeletePolicyDelete
	t.drift, t.applyOrder, t.reapplyInterval = DriftPolicyCorrect, wave, time.Hour
	for _, change := range changes {
		change(t)
	}
	return t
}

func adoption(p AdoptionPolicy) func(*target)     { return func(t *target) { t.adoption = p } }
func update(p UpdatePolicy) func(*target)         { return func(t *target) { t.update = p } }
func drift(p DriftPolicy) func(*target)           { return func(t *target) { t.drift = p } }
func reconcileBy(p ReconcilePolicy) func(*target) { return func(t *target) { t.reconcile = p } }

func selfRemovingJob(t *target) {
	named("batch/v1", "Job", "default", "a")(t)
	t.removesItself = true
}

// seenAs is an observation that fits the record of writtenItem, changed by the given functions.
func seenAs(changes ...func(*observe.Observation)) observe.Observation {
	o := observe.Observation{UID: "u1", ResourceVersion: "10", Generation: 3, Owner: usLabel, Fingerprint: "f1", Status: status.CurrentStatus}
	for _, change := range changes {
		change(&o)
	}
	return o
}

func owner(name string) func(*observe.Observation) {
	return func(o *observe.Observation) { o.Owner = name }
}

func uid(value types.UID) func(*observe.Observation) {
	return func(o *observe.Observation) { o.UID = value }
}

func fingerprint(f string) func(*observe.Observation) {
	return func(o *observe.Observation) { o.Fingerprint = f }
}

func generation(g int64) func(*observe.Observation) {
	return func(o *observe.Observation) { o.Generation = g }
}
func record(o *observe.Observation)   { o.Record = "x/inventory-owner-id" }
func deleting(o *observe.Observation) { o.Deleting, o.Message = true, "finalizers remain: a/b" }
func present(o observe.Observation) situation {
	return situation{owner: usLabel, exists: true, proven: true, seen: o}
}

func recorded(phase Phase, changes ...func(*InventoryItem)) *InventoryItem {
	i := &InventoryItem{Phase: phase, UID: "u1", Fingerprint: "f1", Baseline: "3", LastAppliedAt: &metav1.Time{Time: time.Unix(1, 0)}, Status: status.CurrentStatus}
	for _, change := range changes {
		change(i)
	}
	return i
}

func unrecorded(i *InventoryItem) {
	i.UID, i.Fingerprint, i.Baseline, i.LastAppliedAt = "", "", "", nil
}
func ancestors(i *InventoryItem) { i.UID, i.Fingerprint, i.Baseline = "", "", "" }

func TestDecideApplyAbsent(t *testing.T) {
	t.Parallel()
	cached, proven := situation{owner: usLabel}, situation{owner: usLabel, proven: true}
	fought := situation{owner: usLabel, correction: time.Second}
	for _, tc := range []struct {
		reason string
		target *target
		item   *InventoryItem
		s      situation
		want   decision
	}{
		{"a new object is created without reading", wish(), recorded(PhaseScheduledForApplication, unrecorded), cached, decision{action: actionCreate, verb: VerbCreated, message: "does not exist"}},
		{"also if the server said that it is absent", wish(), recorded(PhaseScheduledForApplication, unrecorded), proven, decision{action: actionCreate, verb: VerbCreated, message: "does not exist"}},
		{"whatever its drift policy", wish(drift(DriftPolicyReport)), recorded(PhaseScheduledForApplication, unrecorded), cached, decision{action: actionCreate, verb: VerbCreated, message: "does not exist"}},
		{"a new object is not a correction that could be put off", wish(), recorded(PhaseScheduledForApplication, unrecorded), fought, decision{action: actionCreate, verb: VerbCreated, message: "does not exist"}},
		{"a job that removes itself must run before it is complete", wish(selfRemovingJob), recorded(PhaseScheduledForApplication, unrecorded), proven, decision{action: actionCreate, verb: VerbCreated, message: "does not exist"}},
		{"between the deletion and the creation of a recreation it is absent", wish(update(UpdatePolicyRecreate)), recorded(PhaseScheduledForApplication), proven, decision{action: actionCreate, verb: VerbCreated, message: "does not exist"}},
		{"it was deleted by us, and is wanted again", wish(), recorded(PhaseDeleting), proven, decision{action: actionCreate, verb: VerbCreated, message: "does not exist"}},
		{"it vanished before it was ready", wish(), recorded(PhaseCreating), cached, decision{action: actionCreate, verb: VerbCorrected, message: "was deleted by others"}},
		{"it vanished while being updated", wish(), recorded(PhaseUpdating), cached, decision{action: actionCreate, verb: VerbCorrected, message: "was deleted by others"}},
		{"it vanished", wish(), recorded(PhaseReady), cached, decision{action: actionCreate, verb: VerbCorrected, message: "was deleted by others"}},
		{"once means that content is left alone, not that it may vanish", wish(reconcileBy(ReconcilePolicyOnce)), recorded(PhaseReady), cached, decision{action: actionCreate, verb: VerbCorrected, message: "was deleted by others"}},
		{"an item of the ancestor vanished", wish(), recorded(PhaseReady, ancestors), cached, decision{action: actionCreate, verb: VerbCorrected, message: "was deleted by others"}},
		{"somebody deletes it again and again", wish(), recorded(PhaseReady), fought, decision{action: actionReport, message: "is deleted by others again and again", again: time.Second}},
		{"the fighter is named if known", wish(), recorded(PhaseReady), situation{owner: usLabel, correction: time.Second, fight: "is changed by x"}, decision{action: actionReport, message: "is changed by x", again: time.Second}},
		{"reporting must not rest on the cache", wish(drift(DriftPolicyReport)), recorded(PhaseReady), cached, decision{action: actionAsk}},
		{"reported", wish(drift(DriftPolicyReport)), recorded(PhaseReady), proven, decision{action: actionReport, message: "was deleted by others"}},
		{"completion must not rest on the cache", wish(selfRemovingJob), recorded(PhaseReady), cached, decision{action: actionAsk}},
		{"a finished job that removed itself", wish(selfRemovingJob), recorded(PhaseReady), proven, decision{action: actionComplete, verb: VerbCompleted, message: "has finished, and is gone"}},
		{"completion is no drift", wish(selfRemovingJob, drift(DriftPolicyReport)), recorded(PhaseReady), proven, decision{action: actionComplete, verb: VerbCompleted, message: "has finished, and is gone"}},
		{"a failed job that is deleted runs again", wish(selfRemovingJob), recorded(PhaseReady, func(i *InventoryItem) { i.Status = status.FailedStatus }), proven, decision{action: actionCreate, verb: VerbCorrected, message: "was deleted by others"}},
		{"a job that never finished runs again", wish(selfRemovingJob), recorded(PhaseCreating), proven, decision{action: actionCreate, verb: VerbCorrected, message: "was deleted by others"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			expectDecision(t, tc.target, tc.item, tc.s, tc.want)
		})
	}
}

func expectDecision(t *testing.T, target *target, item *InventoryItem, s situation, want decision) {
	t.Helper()
	before := item.DeepCopy()
	got := decideApply(target, item, s)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(decision{})); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, item); diff != "" {
		t.Errorf("the decision changed the item (-before +after):\n%s", diff)
	}
}

func TestDecideTakeOver(t *testing.T) {
	t.Parallel()
	apply := func(text string) decision {
		return decision{action: actionApply, verb: VerbAdopted, message: "is taken over, and " + text}
	}
	const unowned, owned = "has no owner", "has another owner"
	mark := apply(owned)
	mark.action = actionMark
	fresh := recorded(PhaseScheduledForApplication, unrecorded)
	for _, tc := range []struct {
		reason string
		target *target
		item   *InventoryItem
		owner  string
		want   decision
	}{
		{"never does not count", wish(adoption(AdoptionPolicyNever)), fresh, themLabel, apply(owned)},
		{"nobody's", wish(adoption(AdoptionPolicyNever)), fresh, "", apply(unowned)},
		{"what is taken over must not be deleted", wish(update(UpdatePolicyRecreate)), fresh, themLabel, apply(owned)},
		{"what was stolen comes back", wish(), recorded(PhaseReady), themLabel, apply(owned)},
		{"although drift is only reported", wish(drift(DriftPolicyReport)), recorded(PhaseReady), themLabel, apply(owned)},
		{"what was never applied is applied once", wish(reconcileBy(ReconcilePolicyOnce)), fresh, themLabel, apply(owned)},
		{"what was applied once is not applied again", wish(reconcileBy(ReconcilePolicyOnce)), recorded(PhaseReady), themLabel, mark},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			s := present(seenAs(owner(tc.owner)))
			s.takeOver = true
			if diff := cmp.Diff(tc.want, decideApply(tc.target, tc.item, s), cmp.AllowUnexported(decision{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDecideApplyForeign(t *testing.T) {
	t.Parallel()
	const unowned = "exists already and has no owner, and its adoption policy is "
	const owned = "exists already and has another owner, and its adoption policy is "
	apply := decision{action: actionApply, verb: VerbAdopted}
	recreate := decision{action: actionRecreate, verb: VerbAdopted}
	mark := decision{action: actionMark, verb: VerbAdopted}
	refuse := func(text string) decision { return decision{action: actionRefuse, message: text} }
	corrected := decision{action: actionApply, verb: VerbCorrected, message: "lost the label that marks it as owned"}
	fresh := recorded(PhaseScheduledForApplication, unrecorded)
	for _, tc := range []struct {
		reason string
		target *target
		item   *InventoryItem
		owner  string
		uid    bool // of another object
		want   decision
	}{
		{"never means never", wish(adoption(AdoptionPolicyNever)), fresh, "", true, refuse(unowned + "never")},
		{"never means never", wish(adoption(AdoptionPolicyNever)), fresh, themLabel, true, refuse(owned + "never")},
		{"nobody's", wish(), fresh, "", true, apply},
		{"somebody's", wish(), fresh, themLabel, true, refuse(owned + "if-unowned")},
		{"always means always", wish(adoption(AdoptionPolicyAlways)), fresh, "", true, apply},
		{"always means always", wish(adoption(AdoptionPolicyAlways)), fresh, themLabel, true, apply},
		{"adoption and recreation go together", wish(update(UpdatePolicyRecreate)), fresh, "", true, recreate},
		{"adoption and recreation go together", wish(adoption(AdoptionPolicyAlways), update(UpdatePolicyRecreate)), fresh, themLabel, true, recreate},
		{"recreation does not bypass adoption", wish(update(UpdatePolicyRecreate)), fresh, themLabel, true, refuse(owned + "if-unowned")},
		{"adopted by apply", wish(update(UpdatePolicySsaMerge)), fresh, "", true, apply},
		{"adopted by apply", wish(update(UpdatePolicySsaOverride)), fresh, "", true, apply},
		{"an object that is to be applied once exists, and keeps its content", wish(reconcileBy(ReconcilePolicyOnce)), fresh, "", true, mark},
		{"all the more it is not deleted", wish(reconcileBy(ReconcilePolicyOnce), update(UpdatePolicyRecreate)), fresh, "", true, mark},
		{"the drift policy is not about adoption", wish(drift(DriftPolicyReport)), fresh, "", true, apply},
		{"what we wrote and somebody took over is his", wish(), recorded(PhaseReady), themLabel, false, refuse(owned + "if-unowned")},
		{"what we wrote and somebody took over is ours again if always", wish(adoption(AdoptionPolicyAlways)), recorded(PhaseReady), themLabel, false, apply},
		{"a foreign object in the place of ours", wish(), recorded(PhaseReady), "", true, apply},
		{"a foreign object in the place of ours", wish(adoption(AdoptionPolicyNever)), recorded(PhaseReady), "", true, refuse(unowned + "never")},
		{"ours, only the label is gone", wish(), recorded(PhaseReady), "", false, corrected},
		{"ours although never adopting", wish(adoption(AdoptionPolicyNever)), recorded(PhaseReady), "", false, corrected},
		{"drift is not repaired by recreation", wish(update(UpdatePolicyRecreate)), recorded(PhaseUpdating), "", false, corrected},
		{"label gone, reported", wish(drift(DriftPolicyReport)), recorded(PhaseReady), "", false, decision{action: actionReport, message: "lost the label that marks it as owned"}},
		{"label gone, ignored", wish(drift(DriftPolicyIgnore)), recorded(PhaseReady), "", false, decision{action: actionKeep}},
		{"label gone, applied once", wish(reconcileBy(ReconcilePolicyOnce)), recorded(PhaseReady), "", false, decision{action: actionKeep}},
		{"an ancestor's item proves nothing by UID", wish(adoption(AdoptionPolicyNever)), recorded(PhaseReady, ancestors), "", false, refuse(unowned + "never")},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			seen := seenAs(owner(tc.owner))
			if tc.uid {
				seen.UID = "u2"
			}
			if tc.want.verb == VerbAdopted {
				tc.want.message = map[string]string{"": "exists already and has no owner", themLabel: "exists already and has another owner"}[tc.owner]
			}
			expectDecision(t, tc.target, tc.item.DeepCopy(), present(seen), tc.want)
		})
	}
}

// TestDecideApplyRival is about objects without our label that others claim.
func TestDecideApplyRival(t *testing.T) {
	t.Parallel()
	refuse := func(policy string) decision {
		return decision{action: actionRefuse, message: "exists already and is theirs, and its adoption policy is " + policy}
	}
	adopt := decision{action: actionApply, verb: VerbAdopted, message: "exists already and is theirs"}
	corrected := decision{action: actionApply, verb: VerbCorrected, message: "lost the label that marks it as owned"}
	theirs := rival{text: "is theirs"}
	marked := rival{text: "is theirs", operator: "other.example.com"}
	fresh := recorded(PhaseScheduledForApplication, unrecorded)
	unwritten := seenAs(owner(""), fingerprint(""))
	for _, tc := range []struct {
		reason string
		target *target
		item   *InventoryItem
		seen   observe.Observation
		rival  rival
		want   decision
	}{
		{"it belongs to others", wish(), fresh, unwritten, theirs, refuse("if-unowned")},
		{"never", wish(adoption(AdoptionPolicyNever)), fresh, unwritten, theirs, refuse("never")},
		{"always means always", wish(adoption(AdoptionPolicyAlways)), fresh, unwritten, theirs, adopt},
		{"others have created it in the place of ours", wish(), recorded(PhaseReady), seenAs(owner(""), uid("u2"), fingerprint("")), theirs, refuse("if-unowned")},
		{"it is ours, lost its label, and got a controller", wish(), recorded(PhaseReady), seenAs(owner("")), theirs, corrected},
		{"another operator has replaced our label", wish(), recorded(PhaseReady), seenAs(owner("")), marked, refuse("if-unowned")},
		{"the recorded UID is no proof", wish(), recorded(PhaseReady), unwritten, theirs, refuse("if-unowned")},
		{"ours that others claim as well", wish(), recorded(PhaseReady), seenAs(), marked, decision{action: actionKeep}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			s := present(tc.seen)
			s.rival = tc.rival
			expectDecision(t, tc.target, tc.item.DeepCopy(), s, tc.want)
		})
	}
	t.Run("who claims it is not known yet", func(t *testing.T) {
		t.Parallel()
		s := present(unwritten)
		s.proven = false
		expectDecision(t, wish(), fresh.DeepCopy(), s, decision{action: actionAsk})
	})
}

func TestDecideApplyDeleting(t *testing.T) {
	t.Parallel()
	want := decision{action: actionAwait, message: "being deleted: finalizers remain: a/b"}
	for _, phase := range []Phase{PhaseScheduledForApplication, PhaseCreating, PhaseUpdating, PhaseReady} {
		for _, o := range []string{usLabel, themLabel, ""} {
			for _, p := range []AdoptionPolicy{AdoptionPolicyNever, AdoptionPolicyIfUnowned, AdoptionPolicyAlways} {
				expectDecision(t, wish(adoption(p)), recorded(phase), present(seenAs(deleting, owner(o))), want)
			}
		}
	}
}

func TestDecideApplyChanged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason string
		target *target
		item   *InventoryItem
		want   decision
	}{
		{"the manifest changed", wish(), recorded(PhaseScheduledForApplication), decision{action: actionApply, verb: VerbUpdated, message: "the manifest changed"}},
		{"merge is an apply", wish(update(UpdatePolicySsaMerge)), recorded(PhaseScheduledForApplication), decision{action: actionApply, verb: VerbUpdated, message: "the manifest changed"}},
		{"override is an apply", wish(update(UpdatePolicySsaOverride)), recorded(PhaseScheduledForApplication), decision{action: actionApply, verb: VerbUpdated, message: "the manifest changed"}},
		{"recreate deletes first", wish(update(UpdatePolicyRecreate)), recorded(PhaseScheduledForApplication), decision{action: actionRecreate, verb: VerbUpdated, message: "the manifest changed"}},
		{"an item of the ancestor is written in place, never recreated", wish(update(UpdatePolicyRecreate)), recorded(PhaseScheduledForApplication, ancestors), decision{action: actionApply, verb: VerbUpdated, message: "the manifest changed"}},
		{"created by a process that died before it could record", wish(), recorded(PhaseScheduledForApplication, unrecorded), decision{action: actionApply, verb: VerbCreated, message: "exists, and its creation was not recorded"}},
		{"the same under recreate: it need not be deleted again", wish(update(UpdatePolicyRecreate)), recorded(PhaseScheduledForApplication, unrecorded), decision{action: actionApply, verb: VerbCreated, message: "exists, and its creation was not recorded"}},
		{"a change of the manifest is applied whatever the drift policy", wish(drift(DriftPolicyReport)), recorded(PhaseScheduledForApplication), decision{action: actionApply, verb: VerbUpdated, message: "the manifest changed"}},
		{"a change of the manifest is applied whatever the drift policy", wish(drift(DriftPolicyIgnore)), recorded(PhaseScheduledForApplication), decision{action: actionApply, verb: VerbUpdated, message: "the manifest changed"}},
		{"an object that is to be applied once came with its content", wish(reconcileBy(ReconcilePolicyOnce)), recorded(PhaseScheduledForApplication, unrecorded), decision{action: actionMark, verb: VerbCreated, message: "exists, and its creation was not recorded"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			for _, pace := range []time.Duration{0, time.Minute} {
				s := present(seenAs(fingerprint("other"), generation(99)))
				s.correction, s.verification = pace, pace
				expectDecision(t, tc.target, tc.item, s, tc.want)
			}
		})
	}
}

func TestDecideApplyDrift(t *testing.T) {
	t.Parallel()
	keep := decision{action: actionKeep}
	correct := decision{action: actionApply, verb: VerbCorrected, message: "was changed by others"}
	verify := decision{action: actionVerify, verb: VerbCorrected, message: "may have been changed by others"}
	report := func(text string) decision { return decision{action: actionReport, message: text} }
	noBaseline := func(i *InventoryItem) { i.Baseline = "" }
	noFingerprint := func(i *InventoryItem) { i.Fingerprint = "" }
	for _, tc := range []struct {
		reason                   string
		target                   *target
		item                     *InventoryItem
		seen                     observe.Observation
		correction, verification time.Duration
		want                     decision
	}{
		{"nothing happened", wish(), recorded(PhaseReady), seenAs(), 0, 0, keep},
		{"nothing happened, and nothing is due", wish(), recorded(PhaseReady), seenAs(), time.Second, time.Second, keep},
		{"the status moved on", wish(), recorded(PhaseCreating), seenAs(func(o *observe.Observation) { o.ResourceVersion, o.Status = "999", status.FailedStatus }), 0, 0, keep},
		{"somebody changed a field of ours", wish(), recorded(PhaseReady), seenAs(fingerprint("f2"), generation(4)), 0, 0, correct},
		{"also without a new generation, as a label of ours", wish(), recorded(PhaseReady), seenAs(fingerprint("f2")), 0, 0, correct},
		{"while it is not ready yet", wish(), recorded(PhaseCreating), seenAs(fingerprint("f2")), 0, 0, correct},
		{"nobody keeps fields any longer, so that our fingerprint is lost", wish(), recorded(PhaseReady), seenAs(fingerprint("")), 0, 0, correct},
		{"by apply, also under recreate", wish(update(UpdatePolicyRecreate)), recorded(PhaseReady), seenAs(fingerprint("f2")), 0, 0, correct},
		{"drift, reported", wish(drift(DriftPolicyReport)), recorded(PhaseReady), seenAs(fingerprint("f2")), 0, 0, report("was changed by others")},
		{"drift, ignored", wish(drift(DriftPolicyIgnore)), recorded(PhaseReady), seenAs(fingerprint("f2"), generation(4)), 0, 0, keep},
		{"never for what is applied once", wish(reconcileBy(ReconcilePolicyOnce)), recorded(PhaseReady), seenAs(fingerprint("f2"), generation(4)), 0, 0, keep},
		{"never for what is applied once", wish(reconcileBy(ReconcilePolicyOnce), drift(DriftPolicyReport)), recorded(PhaseReady), seenAs(uid("u2")), 0, 0, keep},
		{"created anew with our label", wish(), recorded(PhaseReady), seenAs(uid("u2")), 0, 0, decision{action: actionApply, verb: VerbCorrected, message: "was created anew by others"}},
		{"created anew, reported", wish(drift(DriftPolicyReport)), recorded(PhaseReady), seenAs(uid("u2")), 0, 0, report("was created anew by others")},
		{"created anew again and again", wish(), recorded(PhaseReady), seenAs(uid("u2")), time.Second, 0, decision{action: actionReport, message: "was created anew by others again and again", again: time.Second}},
		{"a fight is backed off", wish(), recorded(PhaseReady), seenAs(fingerprint("f2")), time.Minute, 0, decision{action: actionReport, message: "was changed by others again and again", again: time.Minute}},
		{"suspicion: a new generation and the same fields", wish(), recorded(PhaseReady), seenAs(generation(4)), 0, 0, verify},
		{"suspicion is paced by its own measure", wish(), recorded(PhaseReady), seenAs(generation(4)), time.Minute, 0, verify},
		{"suspicion waits", wish(), recorded(PhaseReady), seenAs(generation(4)), 0, time.Minute, decision{action: actionKeep, again: time.Minute}},
		{"suspicion under report is answered without writing", wish(drift(DriftPolicyReport)), recorded(PhaseReady), seenAs(generation(4)), 0, 0, decision{action: actionCompare}},
		{"suspicion under report waits as well", wish(drift(DriftPolicyReport)), recorded(PhaseReady), seenAs(generation(4)), 0, time.Second, decision{action: actionKeep, again: time.Second}},
		{"kinds without generation: the resource version is the baseline", wish(), recorded(PhaseReady, func(i *InventoryItem) { i.Baseline = "rv10" }), seenAs(generation(0)), 0, 0, keep},
		{"kinds without generation: any other version is suspect", wish(), recorded(PhaseReady, func(i *InventoryItem) { i.Baseline = "rv9" }), seenAs(generation(0)), 0, 0, verify},
		{"no baseline is known, as in a record of the ancestor", wish(), recorded(PhaseReady, noBaseline), seenAs(), 0, 0, verify},
		{"nothing is known at all", wish(), recorded(PhaseReady, ancestors), seenAs(), 0, 0, verify},
		{"no fingerprint was known: the baseline decides", wish(), recorded(PhaseReady, noFingerprint), seenAs(fingerprint("f2")), 0, 0, keep},
		{"no fingerprint was known, and the baseline differs", wish(), recorded(PhaseReady, noFingerprint), seenAs(fingerprint("f2"), generation(4)), 0, 0, verify},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			s := present(tc.seen)
			s.correction, s.verification = tc.correction, tc.verification
			expectDecision(t, tc.target, tc.item, s, tc.want)
		})
	}
}

// ownedBy is an object of which our label is gone.
func ownedBy(whose string, r rival) situation {
	s := present(seenAs(owner("")))
	s.whose, s.rival = whose, r
	if whose == "us in plain text" {
		s.owner = digest.OwnerLabel(whose)
	}
	return s
}

func TestDecideDelete(t *testing.T) {
	t.Parallel()
	const anew = "was created anew by others while it was being deleted, and is marked as owned; remove the mark to keep it, or delete it"
	const taken = "belongs to another owner by now, and is left alone"
	gone := situation{owner: usLabel, proven: true}
	another := func(o *observe.Observation) { o.UID = "u2" }
	wantedAs := func(seen observe.Observation) situation {
		s := present(seen)
		s.wantedAs = "other"
		return s
	}
	for _, tc := range []struct {
		reason string
		item   *InventoryItem
		s      situation
		orphan bool
		want   ending
		text   string
	}{
		{"the server says so", recorded(PhaseDeleting), gone, false, endingGone, ""},
		{"nothing to release", recorded(PhaseScheduledForDeletion), gone, true, endingGone, ""},
		{"ours", recorded(PhaseScheduledForDeletion), present(seenAs()), false, endingDelete, ""},
		{"ours, to be released", recorded(PhaseScheduledForDeletion), present(seenAs()), true, endingOrphan, ""},
		{"a finished object is purged", recorded(PhaseScheduledForCompletion), present(seenAs()), false, endingDelete, ""},
		{"the deletion was requested, and lost", recorded(PhaseDeleting), present(seenAs()), false, endingDelete, ""},
		{"finalizers remain", recorded(PhaseDeleting), present(seenAs(deleting)), false, endingAwait, "being deleted: finalizers remain: a/b"},
		{"somebody else deletes it; that it is released makes no difference", recorded(PhaseScheduledForDeletion), present(seenAs(deleting)), true, endingAwait, "being deleted: finalizers remain: a/b"},
		{"another owner took it over", recorded(PhaseScheduledForDeletion), present(seenAs(owner(themLabel))), false, endingGone, taken},
		{"another owner took it over, and it is being deleted", recorded(PhaseDeleting), present(seenAs(owner(themLabel), deleting)), false, endingGone, taken},
		{"another owner's object is not released", recorded(PhaseScheduledForDeletion), present(seenAs(owner(themLabel))), true, endingGone, taken},
		{"a record that was adopted", recorded(PhaseScheduledForDeletion), present(seenAs(record)), false, endingGone, recordsStay},
		{"a record that was adopted, and is to be released", recorded(PhaseScheduledForDeletion), present(seenAs(record)), true, endingGone, recordsStay},
		{"a record that was adopted, and is being deleted", recorded(PhaseDeleting), present(seenAs(record, deleting)), false, endingGone, recordsStay},
		{"another object without label", recorded(PhaseScheduledForDeletion), present(seenAs(owner(""), another)), false, endingGone, ""},
		{"another object without label that is being deleted", recorded(PhaseDeleting), present(seenAs(owner(""), another, deleting)), false, endingGone, ""},
		{"ours, without label", recorded(PhaseScheduledForDeletion), present(seenAs(owner(""))), false, endingDelete, ""},
		{"recorded by its UID, but nothing in it is by us", recorded(PhaseScheduledForDeletion), present(seenAs(owner(""), fingerprint(""))), false, endingGone, notOurs},
		{"not ours, and to be released", recorded(PhaseScheduledForDeletion), present(seenAs(owner(""), fingerprint(""))), true, endingGone, notOurs},
		{"not ours, and its deletion seems to be under way", recorded(PhaseDeleting), present(seenAs(owner(""), fingerprint(""), deleting)), false, endingGone, notOurs},
		{"not ours, and seems to have served its purpose", recorded(PhaseScheduledForCompletion), present(seenAs(owner(""), fingerprint(""))), false, endingGone, notOurs},
		{"its label is gone, and it names another owner", recorded(PhaseScheduledForDeletion), ownedBy("somebody", rival{}), false, endingGone, notOurs},
		{"its label is gone, and it names us", recorded(PhaseScheduledForDeletion), ownedBy("us in plain text", rival{}), false, endingDelete, ""},
		{"another operator has replaced our label", recorded(PhaseScheduledForDeletion), ownedBy("", rival{text: "x", operator: "o"}), false, endingGone, notOurs},
		{"a controller has adopted it, and somebody removed our label", recorded(PhaseScheduledForDeletion), ownedBy("", rival{text: "x"}), false, endingDelete, ""},
		{"released already, or all marks are gone", recorded(PhaseScheduledForDeletion), ownedBy("", rival{}), true, endingGone, ""},
		{"released already, and being deleted by others", recorded(PhaseScheduledForDeletion), goingAway(ownedBy("", rival{})), true, endingGone, ""},
		{"only its label is gone, and it is to be released", recorded(PhaseScheduledForDeletion), ownedBy("us in plain text", rival{}), true, endingOrphan, ""},
		{"a type whose marks are gone may still have our finalizer", recorded(PhaseScheduledForDeletion, definition), ownedBy("", rival{}), true, endingOrphan, ""},
		{"never created, and somebody else's without label", recorded(PhaseScheduledForDeletion, unrecorded), present(seenAs(owner(""))), false, endingGone, ""},
		{"created, and not recorded any more", recorded(PhaseScheduledForDeletion, unrecorded), present(seenAs()), false, endingDelete, ""},
		{"an item of the ancestor", recorded(PhaseScheduledForDeletion, ancestors), present(seenAs()), false, endingDelete, ""},
		{"an item of the ancestor, to be released", recorded(PhaseScheduledForDeletion, ancestors), present(seenAs()), true, endingOrphan, ""},
		{"an item of the ancestor that is being deleted", recorded(PhaseDeleting, ancestors), present(seenAs()), false, endingDelete, ""},
		{"created anew with our label before we requested anything", recorded(PhaseScheduledForDeletion), present(seenAs(another)), false, endingDelete, ""},
		{"created anew with our label before it is purged", recorded(PhaseScheduledForCompletion), present(seenAs(another)), false, endingDelete, ""},
		{"created anew with our label while being deleted", recorded(PhaseDeleting), present(seenAs(another)), false, endingRefuse, anew},
		{"created anew with our label while being purged", recorded(PhaseCompleting), present(seenAs(another)), false, endingRefuse, anew},
		{"wanted under another type", recorded(PhaseScheduledForDeletion), wantedAs(seenAs()), false, endingForget, "is the same object as other, which stays"},
		{"wanted under another type, and to be released under this one", recorded(PhaseScheduledForDeletion), wantedAs(seenAs()), true, endingForget, "is the same object as other, which stays"},
		{"wanted under another type, which waits until it is gone", recorded(PhaseDeleting), wantedAs(seenAs(deleting)), false, endingForget, "is the same object as other, which stays"},
		{"created anew while being deleted, and now to be released", recorded(PhaseDeleting), present(seenAs(another)), true, endingOrphan, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			before := tc.item.DeepCopy()
			action, text := decideDelete(tc.item, tc.s, tc.orphan)
			if action != tc.want || text != tc.text {
				t.Errorf("got %d %q, want %d %q", action, text, tc.want, tc.text)
			}
			if diff := cmp.Diff(before, tc.item); diff != "" {
				t.Errorf("the decision changed the item (-before +after):\n%s", diff)
			}
		})
	}
}

func goingAway(s situation) situation {
	s.seen.Deleting = true
	return s
}

func definition(i *InventoryItem) {
	i.TypeVersionInfo = TypeVersionInfo{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
}

// TestOrphanPolicies says which policies release an object, and when.
func TestOrphanPolicies(t *testing.T) {
	t.Parallel()
	policies := map[DeletePolicy][2]bool{ // on apply, on delete
		DeletePolicyDelete:         {false, false},
		DeletePolicyOrphan:         {true, true},
		DeletePolicyOrphanOnApply:  {true, false},
		DeletePolicyOrphanOnDelete: {false, true},
	}
	for policy, want := range policies {
		for other, its := range policies {
			if got := policies[policy.or(other)]; got != [2]bool{want[0] || its[0], want[1] || its[1]} {
				t.Errorf("%s or %s: got %v", policy, other, got)
			}
		}
		if got := [2]bool{policy.orphanedOnApply(), policy.orphanedOnDelete()}; got != want {
			t.Errorf("%s: got %v, want %v", policy, got, want)
		}
		for i, orphaned := range []func(DeletePolicy) bool{DeletePolicy.orphanedOnApply, DeletePolicy.orphanedOnDelete} {
			final := policy.final(orphaned)
			if got := [2]bool{final.orphanedOnApply(), final.orphanedOnDelete()}; got != [2]bool{want[i], want[i]} {
				t.Errorf("%s: expected what was decided once to hold in both cases, got %v", policy, got)
			}
		}
	}
}
