// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	objecttypes "github.com/component-operator/runtime/pkg/types"
)

const (
	usLabel   = "us"
	themLabel = "them"
	wave      = 7
)

// desired is a desired object with the default behaviour, changed by the given functions.
func desired(changes ...func(*prepare.Object)) *prepare.Object {
	t := &prepare.Object{Digest: "new"}
	named("v1", "ConfigMap", "default", "a")(t)
	t.Adoption, t.Reconcile, t.Update, t.Delete = inventory.AdoptionPolicyIfUnowned, inventory.ReconcilePolicyOnObjectChange, inventory.UpdatePolicyReplace, inventory.DeletePolicyDelete
	t.Drift, t.ApplyOrder, t.ReapplyInterval = inventory.DriftPolicyCorrect, wave, time.Hour
	for _, change := range changes {
		change(t)
	}
	return t
}

// named sets kind, namespace and name of a desired object.
func named(apiVersion, kind, namespace, name string) func(*prepare.Object) {
	return func(t *prepare.Object) {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion(apiVersion)
		object.SetKind(kind)
		object.SetNamespace(namespace)
		object.SetName(name)
		t.Key, t.Version = objecttypes.IDOf(object), object.GroupVersionKind().Version
	}
}

func adoption(p inventory.AdoptionPolicy) func(*prepare.Object) {
	return func(t *prepare.Object) { t.Adoption = p }
}

func update(p inventory.UpdatePolicy) func(*prepare.Object) {
	return func(t *prepare.Object) { t.Update = p }
}

func drift(p inventory.DriftPolicy) func(*prepare.Object) {
	return func(t *prepare.Object) { t.Drift = p }
}

func reconcileBy(p inventory.ReconcilePolicy) func(*prepare.Object) {
	return func(t *prepare.Object) { t.Reconcile = p }
}

func selfRemovingJob(t *prepare.Object) {
	named("batch/v1", "Job", "default", "a")(t)
	t.RemovesItself = true
}

func failsFinally(t *prepare.Object) { t.FailsFinally = true }

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

func record(o *observe.Observation) { o.Record = "x/inventory-owner-id" }

func deleting(o *observe.Observation) { o.Deleting, o.Message = true, "finalizers remain: a/b" }

func present(o observe.Observation) Situation {
	return Situation{Owner: usLabel, Exists: true, Proven: true, Seen: o}
}

func recorded(phase inventory.Phase, changes ...func(*inventory.Item)) *inventory.Item {
	i := &inventory.Item{Phase: phase, UID: "u1", Fingerprint: "f1", Baseline: "3", LastAppliedAt: &metav1.Time{Time: time.Unix(1, 0)}, Status: status.CurrentStatus}
	for _, change := range changes {
		change(i)
	}
	return i
}

func unrecorded(i *inventory.Item) {
	i.UID, i.Fingerprint, i.Baseline, i.LastAppliedAt = "", "", "", nil
}

func ancestors(i *inventory.Item) { i.UID, i.Fingerprint, i.Baseline = "", "", "" }

func TestDecideApplyAbsent(t *testing.T) {
	t.Parallel()
	cached, proven := Situation{Owner: usLabel}, Situation{Owner: usLabel, Proven: true}
	fought := Situation{Owner: usLabel, Correction: time.Second}
	for _, tc := range []struct {
		reason string
		wanted *prepare.Object
		item   *inventory.Item
		s      Situation
		want   Decision
	}{
		{"a new object is created without reading", desired(), recorded(inventory.PhaseScheduledForApplication, unrecorded), cached, Decision{Action: Create, Verb: inventory.VerbCreated, Message: "does not exist"}},
		{"also if the server said that it is absent", desired(), recorded(inventory.PhaseScheduledForApplication, unrecorded), proven, Decision{Action: Create, Verb: inventory.VerbCreated, Message: "does not exist"}},
		{"whatever its drift policy", desired(drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseScheduledForApplication, unrecorded), cached, Decision{Action: Create, Verb: inventory.VerbCreated, Message: "does not exist"}},
		{"a new object is not a correction that could be put off", desired(), recorded(inventory.PhaseScheduledForApplication, unrecorded), fought, Decision{Action: Create, Verb: inventory.VerbCreated, Message: "does not exist"}},
		{"a job that removes itself must run before it is complete", desired(selfRemovingJob), recorded(inventory.PhaseScheduledForApplication, unrecorded), proven, Decision{Action: Create, Verb: inventory.VerbCreated, Message: "does not exist"}},
		{"between the deletion and the creation of a recreation it is absent", desired(update(inventory.UpdatePolicyRecreate)), recorded(inventory.PhaseScheduledForApplication), proven, Decision{Action: Create, Verb: inventory.VerbCreated, Message: "does not exist"}},
		{"it was deleted by us, and is wanted again", desired(), recorded(inventory.PhaseDeleting), proven, Decision{Action: Create, Verb: inventory.VerbCreated, Message: "does not exist"}},
		{"it vanished before it was ready", desired(), recorded(inventory.PhaseCreating), cached, Decision{Action: Create, Verb: inventory.VerbRestored, Message: "was deleted by another client"}},
		{"it vanished while being updated", desired(), recorded(inventory.PhaseUpdating), cached, Decision{Action: Create, Verb: inventory.VerbRestored, Message: "was deleted by another client"}},
		{"it vanished", desired(), recorded(inventory.PhaseReady), cached, Decision{Action: Create, Verb: inventory.VerbRestored, Message: "was deleted by another client"}},
		{"once means that content is left alone, not that it may vanish", desired(reconcileBy(inventory.ReconcilePolicyOnce)), recorded(inventory.PhaseReady), cached, Decision{Action: Create, Verb: inventory.VerbRestored, Message: "was deleted by another client"}},
		{"an item of the ancestor vanished", desired(), recorded(inventory.PhaseReady, ancestors), cached, Decision{Action: Create, Verb: inventory.VerbRestored, Message: "was deleted by another client"}},
		{"others delete it repeatedly", desired(), recorded(inventory.PhaseReady), fought, Decision{Action: Report, Message: "is repeatedly deleted by other clients", Again: time.Second}},
		{"one who has changed it may not have deleted it", desired(), recorded(inventory.PhaseReady), Situation{Owner: usLabel, Correction: time.Second, Fight: "is changed by x"}, Decision{Action: Report, Message: "is repeatedly changed or deleted by other clients", Again: time.Second}},
		{"reporting must not rest on the cache", desired(drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseReady), cached, Decision{Action: Ask}},
		{"reported", desired(drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseReady), proven, Decision{Action: Report, Message: "was deleted by another client"}},
		{"completion must not rest on the cache", desired(selfRemovingJob), recorded(inventory.PhaseReady), cached, Decision{Action: Ask}},
		{"a finished job that removed itself", desired(selfRemovingJob), recorded(inventory.PhaseReady), proven, Decision{Action: Complete, Verb: inventory.VerbCompleted, Message: "has finished, and is gone"}},
		{"completion is no drift", desired(selfRemovingJob, drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseReady), proven, Decision{Action: Complete, Verb: inventory.VerbCompleted, Message: "has finished, and is gone"}},
		{"a failed job that is deleted runs again", desired(selfRemovingJob), recorded(inventory.PhaseReady, func(i *inventory.Item) { i.Status = status.FailedStatus }), proven, Decision{Action: Create, Verb: inventory.VerbRestored, Message: "was deleted by another client"}},
		{"a failure that is final must not rest on the cache", desired(selfRemovingJob, failsFinally), recorded(inventory.PhaseCreating, func(i *inventory.Item) { i.Status = status.FailedStatus }), cached, Decision{Action: Ask}},
		{"a failed job whose failure is final", desired(selfRemovingJob, failsFinally), recorded(inventory.PhaseCreating, func(i *inventory.Item) { i.Status = status.FailedStatus }), proven, Decision{Action: Dismiss, Message: "has failed, and is gone"}},
		{"a job that never finished runs again", desired(selfRemovingJob), recorded(inventory.PhaseCreating), proven, Decision{Action: Create, Verb: inventory.VerbRestored, Message: "was deleted by another client"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			expectDecision(t, tc.wanted, tc.item, tc.s, tc.want)
		})
	}
}

func expectDecision(t *testing.T, wanted *prepare.Object, item *inventory.Item, s Situation, want Decision) {
	t.Helper()
	before := item.DeepCopy()
	got := Apply(wanted, item, s)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Decision{})); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, item); diff != "" {
		t.Errorf("the decision changed the item (-before +after):\n%s", diff)
	}
}

func TestDecideTakeOver(t *testing.T) {
	t.Parallel()
	apply := func(text string) Decision {
		return Decision{Action: Write, Verb: inventory.VerbAdopted, Message: "already exists and " + text}
	}
	const unowned, owned = "has no owner", "has another owner"
	mark := apply(owned)
	mark.Action = Mark
	fresh := recorded(inventory.PhaseScheduledForApplication, unrecorded)
	for _, tc := range []struct {
		reason string
		wanted *prepare.Object
		item   *inventory.Item
		owner  string
		want   Decision
	}{
		{"never does not count", desired(adoption(inventory.AdoptionPolicyNever)), fresh, themLabel, apply(owned)},
		{"nobody's", desired(adoption(inventory.AdoptionPolicyNever)), fresh, "", apply(unowned)},
		{"what is taken over must not be deleted", desired(update(inventory.UpdatePolicyRecreate)), fresh, themLabel, apply(owned)},
		{"what was stolen comes back", desired(), recorded(inventory.PhaseReady), themLabel, apply(owned)},
		{"although drift is only reported", desired(drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseReady), themLabel, apply(owned)},
		{"what was never applied is applied once", desired(reconcileBy(inventory.ReconcilePolicyOnce)), fresh, themLabel, apply(owned)},
		{"what was applied once is not applied again", desired(reconcileBy(inventory.ReconcilePolicyOnce)), recorded(inventory.PhaseReady), themLabel, mark},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			s := present(seenAs(owner(tc.owner)))
			s.TakeOver = true
			if diff := cmp.Diff(tc.want, Apply(tc.wanted, tc.item, s), cmp.AllowUnexported(Decision{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDecideApplyForeign(t *testing.T) {
	t.Parallel()
	const unowned = "already exists and has no owner, but its adoption policy is "
	const owned = "already exists and has another owner, but its adoption policy is "
	apply := Decision{Action: Write, Verb: inventory.VerbAdopted}
	recreate := Decision{Action: Recreate, Verb: inventory.VerbAdopted}
	mark := Decision{Action: Mark, Verb: inventory.VerbAdopted}
	refuse := func(text string) Decision { return Decision{Action: Refuse, Message: text} }
	corrected := Decision{Action: Write, Verb: inventory.VerbCorrected, Message: "lost its owner label"}
	fresh := recorded(inventory.PhaseScheduledForApplication, unrecorded)
	for _, tc := range []struct {
		reason string
		wanted *prepare.Object
		item   *inventory.Item
		owner  string
		uid    bool // of another object
		want   Decision
	}{
		{"never means never", desired(adoption(inventory.AdoptionPolicyNever)), fresh, "", true, refuse(unowned + "never")},
		{"never means never", desired(adoption(inventory.AdoptionPolicyNever)), fresh, themLabel, true, refuse(owned + "never")},
		{"nobody's", desired(), fresh, "", true, apply},
		{"another owner's", desired(), fresh, themLabel, true, refuse(owned + "if-unowned")},
		{"always means always", desired(adoption(inventory.AdoptionPolicyAlways)), fresh, "", true, apply},
		{"always means always", desired(adoption(inventory.AdoptionPolicyAlways)), fresh, themLabel, true, apply},
		{"adoption and recreation go together", desired(update(inventory.UpdatePolicyRecreate)), fresh, "", true, recreate},
		{"adoption and recreation go together", desired(adoption(inventory.AdoptionPolicyAlways), update(inventory.UpdatePolicyRecreate)), fresh, themLabel, true, recreate},
		{"recreation does not bypass adoption", desired(update(inventory.UpdatePolicyRecreate)), fresh, themLabel, true, refuse(owned + "if-unowned")},
		{"adopted by apply", desired(update(inventory.UpdatePolicySsaMerge)), fresh, "", true, apply},
		{"adopted by apply", desired(update(inventory.UpdatePolicySsaOverride)), fresh, "", true, apply},
		{"an object that is to be applied once exists, and keeps its content", desired(reconcileBy(inventory.ReconcilePolicyOnce)), fresh, "", true, mark},
		{"all the more it is not deleted", desired(reconcileBy(inventory.ReconcilePolicyOnce), update(inventory.UpdatePolicyRecreate)), fresh, "", true, mark},
		{"the drift policy is not about adoption", desired(drift(inventory.DriftPolicyReport)), fresh, "", true, apply},
		{"what we wrote, and another owner adopted, belongs to that owner", desired(), recorded(inventory.PhaseReady), themLabel, false, refuse(owned + "if-unowned")},
		{"what we wrote, and another owner adopted, is ours again with policy always", desired(adoption(inventory.AdoptionPolicyAlways)), recorded(inventory.PhaseReady), themLabel, false, apply},
		{"a foreign object in the place of ours", desired(), recorded(inventory.PhaseReady), "", true, apply},
		{"a foreign object in the place of ours", desired(adoption(inventory.AdoptionPolicyNever)), recorded(inventory.PhaseReady), "", true, refuse(unowned + "never")},
		{"ours, only the label is gone", desired(), recorded(inventory.PhaseReady), "", false, corrected},
		{"ours although never adopting", desired(adoption(inventory.AdoptionPolicyNever)), recorded(inventory.PhaseReady), "", false, corrected},
		{"drift is not repaired by recreation", desired(update(inventory.UpdatePolicyRecreate)), recorded(inventory.PhaseUpdating), "", false, corrected},
		{"label gone, reported", desired(drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseReady), "", false, Decision{Action: Report, Message: "lost its owner label"}},
		{"label gone, ignored", desired(drift(inventory.DriftPolicyIgnore)), recorded(inventory.PhaseReady), "", false, Decision{Action: Keep}},
		{"label gone, applied once", desired(reconcileBy(inventory.ReconcilePolicyOnce)), recorded(inventory.PhaseReady), "", false, Decision{Action: Keep}},
		{"an ancestor's item proves nothing by UID", desired(adoption(inventory.AdoptionPolicyNever)), recorded(inventory.PhaseReady, ancestors), "", false, refuse(unowned + "never")},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			seen := seenAs(owner(tc.owner))
			if tc.uid {
				seen.UID = "u2"
			}
			if tc.want.Verb == inventory.VerbAdopted {
				tc.want.Message = map[string]string{"": "already exists and has no owner", themLabel: "already exists and has another owner"}[tc.owner]
			}
			expectDecision(t, tc.wanted, tc.item.DeepCopy(), present(seen), tc.want)
		})
	}
}

// TestDecideApplyRival is about objects without our label that others claim.
func TestDecideApplyRival(t *testing.T) {
	t.Parallel()
	refuse := func(policy string) Decision {
		return Decision{Action: Refuse, Message: "already exists and is theirs, but its adoption policy is " + policy}
	}
	adopt := Decision{Action: Write, Verb: inventory.VerbAdopted, Message: "already exists and is theirs"}
	corrected := Decision{Action: Write, Verb: inventory.VerbCorrected, Message: "lost its owner label"}
	theirs := Rival{text: "is theirs"}
	marked := Rival{text: "is theirs", operator: "other.example.com"}
	fresh := recorded(inventory.PhaseScheduledForApplication, unrecorded)
	unwritten := seenAs(owner(""), fingerprint(""))
	for _, tc := range []struct {
		reason string
		wanted *prepare.Object
		item   *inventory.Item
		seen   observe.Observation
		rival  Rival
		want   Decision
	}{
		{"it belongs to others", desired(), fresh, unwritten, theirs, refuse("if-unowned")},
		{"never", desired(adoption(inventory.AdoptionPolicyNever)), fresh, unwritten, theirs, refuse("never")},
		{"always means always", desired(adoption(inventory.AdoptionPolicyAlways)), fresh, unwritten, theirs, adopt},
		{"others have created it in the place of ours", desired(), recorded(inventory.PhaseReady), seenAs(owner(""), uid("u2"), fingerprint("")), theirs, refuse("if-unowned")},
		{"it is ours, lost its label, and got a controller", desired(), recorded(inventory.PhaseReady), seenAs(owner("")), theirs, corrected},
		{"another operator has replaced our label", desired(), recorded(inventory.PhaseReady), seenAs(owner("")), marked, refuse("if-unowned")},
		{"the recorded UID is no proof", desired(), recorded(inventory.PhaseReady), unwritten, theirs, refuse("if-unowned")},
		{"ours that others claim as well", desired(), recorded(inventory.PhaseReady), seenAs(), marked, Decision{Action: Keep}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			s := present(tc.seen)
			s.Rival = tc.rival
			expectDecision(t, tc.wanted, tc.item.DeepCopy(), s, tc.want)
		})
	}
	t.Run("who claims it is not known yet", func(t *testing.T) {
		t.Parallel()
		s := present(unwritten)
		s.Proven = false
		expectDecision(t, desired(), fresh.DeepCopy(), s, Decision{Action: Ask})
	})
}

func TestDecideApplyDeleting(t *testing.T) {
	t.Parallel()
	want := Decision{Action: Await, Message: "being deleted: finalizers remain: a/b"}
	for _, phase := range []inventory.Phase{inventory.PhaseScheduledForApplication, inventory.PhaseCreating, inventory.PhaseUpdating, inventory.PhaseReady} {
		for _, o := range []string{usLabel, themLabel, ""} {
			for _, p := range []inventory.AdoptionPolicy{inventory.AdoptionPolicyNever, inventory.AdoptionPolicyIfUnowned, inventory.AdoptionPolicyAlways} {
				expectDecision(t, desired(adoption(p)), recorded(phase), present(seenAs(deleting, owner(o))), want)
			}
		}
	}
}

func TestDecideApplyChanged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason string
		wanted *prepare.Object
		item   *inventory.Item
		want   Decision
	}{
		{"the manifest changed", desired(), recorded(inventory.PhaseScheduledForApplication), Decision{Action: Write, Verb: inventory.VerbUpdated, Message: "the manifest changed"}},
		{"merge is an apply", desired(update(inventory.UpdatePolicySsaMerge)), recorded(inventory.PhaseScheduledForApplication), Decision{Action: Write, Verb: inventory.VerbUpdated, Message: "the manifest changed"}},
		{"override is an apply", desired(update(inventory.UpdatePolicySsaOverride)), recorded(inventory.PhaseScheduledForApplication), Decision{Action: Write, Verb: inventory.VerbUpdated, Message: "the manifest changed"}},
		{"recreate deletes first", desired(update(inventory.UpdatePolicyRecreate)), recorded(inventory.PhaseScheduledForApplication), Decision{Action: Recreate, Verb: inventory.VerbUpdated, Message: "the manifest changed"}},
		{"an item of the ancestor is written in place, never recreated", desired(update(inventory.UpdatePolicyRecreate)), recorded(inventory.PhaseScheduledForApplication, ancestors), Decision{Action: Write, Verb: inventory.VerbUpdated, Message: "the manifest changed"}},
		{"created by a process that died before it could record", desired(), recorded(inventory.PhaseScheduledForApplication, unrecorded), Decision{Action: Write, Verb: inventory.VerbUpdated, Message: Unrecorded}},
		{"the same under recreate: it need not be deleted again", desired(update(inventory.UpdatePolicyRecreate)), recorded(inventory.PhaseScheduledForApplication, unrecorded), Decision{Action: Write, Verb: inventory.VerbUpdated, Message: Unrecorded}},
		{"a change of the manifest is applied whatever the drift policy", desired(drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseScheduledForApplication), Decision{Action: Write, Verb: inventory.VerbUpdated, Message: "the manifest changed"}},
		{"a change of the manifest is applied whatever the drift policy", desired(drift(inventory.DriftPolicyIgnore)), recorded(inventory.PhaseScheduledForApplication), Decision{Action: Write, Verb: inventory.VerbUpdated, Message: "the manifest changed"}},
		{"an object that is to be applied once came with its content", desired(reconcileBy(inventory.ReconcilePolicyOnce)), recorded(inventory.PhaseScheduledForApplication, unrecorded), Decision{Action: Mark, Verb: inventory.VerbUpdated, Message: Unrecorded}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			for _, pace := range []time.Duration{0, time.Minute} {
				s := present(seenAs(fingerprint("other"), generation(99)))
				s.Correction, s.Verification = pace, pace
				expectDecision(t, tc.wanted, tc.item, s, tc.want)
			}
		})
	}
}

func TestDecideApplyDrift(t *testing.T) {
	t.Parallel()
	keep := Decision{Action: Keep}
	correct := Decision{Action: Write, Verb: inventory.VerbCorrected, Message: "was changed by another client"}
	verify := Decision{Action: Verify, Verb: inventory.VerbCorrected, Message: "may have been changed by another client"}
	report := func(text string) Decision { return Decision{Action: Report, Message: text} }
	noBaseline := func(i *inventory.Item) { i.Baseline = "" }
	noFingerprint := func(i *inventory.Item) { i.Fingerprint = "" }
	for _, tc := range []struct {
		reason                   string
		wanted                   *prepare.Object
		item                     *inventory.Item
		seen                     observe.Observation
		correction, verification time.Duration
		want                     Decision
	}{
		{"nothing happened", desired(), recorded(inventory.PhaseReady), seenAs(), 0, 0, keep},
		{"nothing happened, and nothing is due", desired(), recorded(inventory.PhaseReady), seenAs(), time.Second, time.Second, keep},
		{"the status moved on", desired(), recorded(inventory.PhaseCreating), seenAs(func(o *observe.Observation) { o.ResourceVersion, o.Status = "999", status.FailedStatus }), 0, 0, keep},
		{"others changed a field of ours", desired(), recorded(inventory.PhaseReady), seenAs(fingerprint("f2"), generation(4)), 0, 0, correct},
		{"also without a new generation, as a label of ours", desired(), recorded(inventory.PhaseReady), seenAs(fingerprint("f2")), 0, 0, correct},
		{"while it is not ready yet", desired(), recorded(inventory.PhaseCreating), seenAs(fingerprint("f2")), 0, 0, correct},
		{"nobody keeps fields any longer, so that our fingerprint is lost", desired(), recorded(inventory.PhaseReady), seenAs(fingerprint("")), 0, 0, correct},
		{"by apply, also under recreate", desired(update(inventory.UpdatePolicyRecreate)), recorded(inventory.PhaseReady), seenAs(fingerprint("f2")), 0, 0, correct},
		{"drift, reported", desired(drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseReady), seenAs(fingerprint("f2")), 0, 0, report("was changed by another client")},
		{"drift, ignored", desired(drift(inventory.DriftPolicyIgnore)), recorded(inventory.PhaseReady), seenAs(fingerprint("f2"), generation(4)), 0, 0, keep},
		{"never for what is applied once", desired(reconcileBy(inventory.ReconcilePolicyOnce)), recorded(inventory.PhaseReady), seenAs(fingerprint("f2"), generation(4)), 0, 0, keep},
		{"never for what is applied once", desired(reconcileBy(inventory.ReconcilePolicyOnce), drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseReady), seenAs(uid("u2")), 0, 0, keep},
		{"recreated with our label", desired(), recorded(inventory.PhaseReady), seenAs(uid("u2")), 0, 0, Decision{Action: Write, Verb: inventory.VerbCorrected, Message: "was recreated by another client"}},
		{"recreated, reported", desired(drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseReady), seenAs(uid("u2")), 0, 0, report("was recreated by another client")},
		{"recreated by others repeatedly", desired(), recorded(inventory.PhaseReady), seenAs(uid("u2")), time.Second, 0, Decision{Action: Report, Message: "is repeatedly recreated by another client", Again: time.Second}},
		{"a fight is backed off", desired(), recorded(inventory.PhaseReady), seenAs(fingerprint("f2")), time.Minute, 0, Decision{Action: Report, Message: "is repeatedly changed by another client", Again: time.Minute}},
		{"suspicion: a new generation and the same fields", desired(), recorded(inventory.PhaseReady), seenAs(generation(4)), 0, 0, verify},
		{"suspicion is paced by its own measure", desired(), recorded(inventory.PhaseReady), seenAs(generation(4)), time.Minute, 0, verify},
		{"suspicion waits", desired(), recorded(inventory.PhaseReady), seenAs(generation(4)), 0, time.Minute, Decision{Action: Keep, Again: time.Minute}},
		{"suspicion under report is answered without writing", desired(drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseReady), seenAs(generation(4)), 0, 0, Decision{Action: Compare}},
		{"suspicion under report waits as well", desired(drift(inventory.DriftPolicyReport)), recorded(inventory.PhaseReady), seenAs(generation(4)), 0, time.Second, Decision{Action: Keep, Again: time.Second}},
		{"kinds without generation: the resource version is the baseline", desired(), recorded(inventory.PhaseReady, func(i *inventory.Item) { i.Baseline = "rv10" }), seenAs(generation(0)), 0, 0, keep},
		{"kinds without generation: any other version is suspect", desired(), recorded(inventory.PhaseReady, func(i *inventory.Item) { i.Baseline = "rv9" }), seenAs(generation(0)), 0, 0, verify},
		{"no baseline is known, as in a record of the ancestor", desired(), recorded(inventory.PhaseReady, noBaseline), seenAs(), 0, 0, verify},
		{"nothing is known at all", desired(), recorded(inventory.PhaseReady, ancestors), seenAs(), 0, 0, verify},
		{"no fingerprint was known: the baseline decides", desired(), recorded(inventory.PhaseReady, noFingerprint), seenAs(fingerprint("f2")), 0, 0, keep},
		{"no fingerprint was known, and the baseline differs", desired(), recorded(inventory.PhaseReady, noFingerprint), seenAs(fingerprint("f2"), generation(4)), 0, 0, verify},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			s := present(tc.seen)
			s.Correction, s.Verification = tc.correction, tc.verification
			expectDecision(t, tc.wanted, tc.item, s, tc.want)
		})
	}
}

// ownedBy is an object of which our label is gone.
func ownedBy(whose string, r Rival) Situation {
	s := present(seenAs(owner("")))
	s.Whose, s.Rival = whose, r
	if whose == "us in plain text" {
		s.Owner = manifest.OwnerLabel(whose)
	}
	return s
}

const taken = "belongs to another owner, and is left alone"

var gone = Situation{Owner: usLabel, Proven: true}

// another makes it another object with the same name.
func another(o *observe.Observation) { o.UID = "u2" }

func TestDecideDelete(t *testing.T) {
	t.Parallel()
	renamed := ownedBy("us in plain text", Rival{text: "x", operator: "o", owner: "us in plain text"})
	const anew = "was recreated by another client while it was being deleted, and has the label of this owner; to keep the object, remove its label that ends with /owner-id; otherwise, delete it"
	wantedAs := func(seen observe.Observation) Situation {
		s := present(seen)
		s.WantedAs = "other"
		return s
	}
	for _, tc := range []struct {
		reason string
		item   *inventory.Item
		s      Situation
		orphan bool
		want   Ending
		text   string
	}{
		{"the server says so", recorded(inventory.PhaseDeleting), gone, false, Gone, ""},
		{"nothing to release", recorded(inventory.PhaseScheduledForDeletion), gone, true, Gone, ""},
		{"ours", recorded(inventory.PhaseScheduledForDeletion), present(seenAs()), false, RequestDeletion, ""},
		{"ours, to be orphaned", recorded(inventory.PhaseScheduledForDeletion), present(seenAs()), true, Orphan, ""},
		{"a finished object is purged", recorded(inventory.PhaseScheduledForCompletion), present(seenAs()), false, RequestDeletion, ""},
		{"the deletion was requested, and lost", recorded(inventory.PhaseDeleting), present(seenAs()), false, RequestDeletion, ""},
		{"finalizers remain", recorded(inventory.PhaseDeleting), present(seenAs(deleting)), false, AwaitEnd, "being deleted: finalizers remain: a/b"},
		{"others delete it; the orphan policy makes no difference", recorded(inventory.PhaseScheduledForDeletion), present(seenAs(deleting)), true, AwaitEnd, "being deleted: finalizers remain: a/b"},
		{"another owner took it over", recorded(inventory.PhaseScheduledForDeletion), present(seenAs(owner(themLabel))), false, Gone, taken},
		{"another owner took it over, and it is being deleted", recorded(inventory.PhaseDeleting), present(seenAs(owner(themLabel), deleting)), false, Gone, taken},
		{"another owner's object is not orphaned", recorded(inventory.PhaseScheduledForDeletion), present(seenAs(owner(themLabel))), true, Gone, taken},
		{"a record that was adopted", recorded(inventory.PhaseScheduledForDeletion), present(seenAs(record)), false, Gone, recordsStay},
		{"a record that was adopted, and is to be orphaned", recorded(inventory.PhaseScheduledForDeletion), present(seenAs(record)), true, Gone, recordsStay},
		{"a record that was adopted, and is being deleted", recorded(inventory.PhaseDeleting), present(seenAs(record, deleting)), false, Gone, recordsStay},
		{"another object without label", recorded(inventory.PhaseScheduledForDeletion), present(seenAs(owner(""), another)), false, Gone, ""},
		{"another object without label that is being deleted", recorded(inventory.PhaseDeleting), present(seenAs(owner(""), another, deleting)), false, Gone, ""},
		{"ours, without label", recorded(inventory.PhaseScheduledForDeletion), present(seenAs(owner(""))), false, RequestDeletion, ""},
		{"recorded by its UID, but nothing in it is by us", recorded(inventory.PhaseScheduledForDeletion), present(seenAs(owner(""), fingerprint(""))), false, Gone, notOurs},
		{"not ours, and to be orphaned", recorded(inventory.PhaseScheduledForDeletion), present(seenAs(owner(""), fingerprint(""))), true, Gone, notOurs},
		{"not ours, and its deletion seems to be under way", recorded(inventory.PhaseDeleting), present(seenAs(owner(""), fingerprint(""), deleting)), false, Gone, notOurs},
		{"not ours, and seems to have served its purpose", recorded(inventory.PhaseScheduledForCompletion), present(seenAs(owner(""), fingerprint(""))), false, Gone, notOurs},
		{"its label is gone, and it names another owner", recorded(inventory.PhaseScheduledForDeletion), ownedBy("somebody", Rival{}), false, Gone, notOurs},
		{"its label is gone, and it names us", recorded(inventory.PhaseScheduledForDeletion), ownedBy("us in plain text", Rival{}), false, RequestDeletion, ""},
		{"another operator has replaced our label", recorded(inventory.PhaseScheduledForDeletion), ownedBy("", Rival{text: "x", operator: "o"}), false, Gone, notOurs},
		{"another operator has it for another owner", recorded(inventory.PhaseScheduledForDeletion), ownedBy("us in plain text", Rival{text: "x", operator: "o", owner: "them"}), false, Gone, notOurs},
		{"another operator has it for the same owner", recorded(inventory.PhaseScheduledForDeletion), renamed, false, RefuseEnd, markedByText("o")},
		{"another operator has another object of the name for the same owner", recorded(inventory.PhaseScheduledForDeletion, unrecorded), renamed, false, Gone, ""},
		{"another operator has it for the same owner, and it stays anyway", recorded(inventory.PhaseScheduledForDeletion), renamed, true, Gone, notOurs},
		{"a controller has adopted it, and others removed our label", recorded(inventory.PhaseScheduledForDeletion), ownedBy("", Rival{text: "x"}), false, RequestDeletion, ""},
		{"orphaned already, or all marks are gone", recorded(inventory.PhaseScheduledForDeletion), ownedBy("", Rival{}), true, Gone, ""},
		{"orphaned already, and being deleted by others", recorded(inventory.PhaseScheduledForDeletion), goingAway(ownedBy("", Rival{})), true, Gone, ""},
		{"only its label is gone, and it is to be orphaned", recorded(inventory.PhaseScheduledForDeletion), ownedBy("us in plain text", Rival{}), true, Orphan, ""},
		{"a type whose marks are gone may still have our finalizer", recorded(inventory.PhaseScheduledForDeletion, definition), ownedBy("", Rival{}), true, Orphan, ""},
		{"never created, and another owner's without label", recorded(inventory.PhaseScheduledForDeletion, unrecorded), present(seenAs(owner(""))), false, Gone, ""},
		{"created, and not recorded any more", recorded(inventory.PhaseScheduledForDeletion, unrecorded), present(seenAs()), false, RequestDeletion, ""},
		{"an item of the ancestor", recorded(inventory.PhaseScheduledForDeletion, ancestors), present(seenAs()), false, RequestDeletion, ""},
		{"an item of the ancestor, to be orphaned", recorded(inventory.PhaseScheduledForDeletion, ancestors), present(seenAs()), true, Orphan, ""},
		{"an item of the ancestor that is being deleted", recorded(inventory.PhaseDeleting, ancestors), present(seenAs()), false, RequestDeletion, ""},
		{"recreated with our label before we requested anything", recorded(inventory.PhaseScheduledForDeletion), present(seenAs(another)), false, RequestDeletion, ""},
		{"recreated with our label before it is purged", recorded(inventory.PhaseScheduledForCompletion), present(seenAs(another)), false, RequestDeletion, ""},
		{"recreated with our label while being deleted", recorded(inventory.PhaseDeleting), present(seenAs(another)), false, RefuseEnd, anew},
		{"recreated with our label while being purged", recorded(inventory.PhaseCompleting), present(seenAs(another)), false, RefuseEnd, anew},
		{"wanted under another type", recorded(inventory.PhaseScheduledForDeletion), wantedAs(seenAs()), false, Forget, "is the same object as other, which is kept"},
		{"wanted under another type, and to be orphaned under this one", recorded(inventory.PhaseScheduledForDeletion), wantedAs(seenAs()), true, Forget, "is the same object as other, which is kept"},
		{"wanted under another type, which waits until it is gone", recorded(inventory.PhaseDeleting), wantedAs(seenAs(deleting)), false, Forget, "is the same object as other, which is kept"},
		{"recreated while being deleted, and now to be orphaned", recorded(inventory.PhaseDeleting), present(seenAs(another)), true, Orphan, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			before := tc.item.DeepCopy()
			action, text := Delete(tc.item, tc.s, Deletion{Orphan: tc.orphan})
			if action != tc.want || text != tc.text {
				t.Errorf("got %d %q, want %d %q", action, text, tc.want, tc.text)
			}
			if diff := cmp.Diff(before, tc.item); diff != "" {
				t.Errorf("the decision changed the item (-before +after):\n%s", diff)
			}
		})
	}
}

func TestDecidePrune(t *testing.T) {
	t.Parallel()
	const scheduled, kept, ongoing = inventory.PhaseScheduledForDeletion, inventory.PhaseKept, inventory.PhaseDeleting
	approved := func(i *inventory.Item) { i.DeletionApproved = true }
	for _, tc := range []struct {
		reason string
		item   *inventory.Item
		s      Situation
		d      Deletion
		want   Ending
		text   string
	}{
		{"it stays", recorded(kept), present(seenAs()), Deletion{Prune: inventory.PrunePolicyKeep}, Stay, keptText},
		{"only the annotation says that it stays", recorded(scheduled), present(seenAs()), Deletion{Prune: inventory.PrunePolicyKeep}, Stay, keptText},
		{"it is gone", recorded(kept), gone, Deletion{Prune: inventory.PrunePolicyKeep}, Gone, ""},
		{"others delete it", recorded(kept), present(seenAs(deleting)), Deletion{Prune: inventory.PrunePolicyKeep}, AwaitEnd, "being deleted: finalizers remain: a/b"},
		{"it belongs to others by now", recorded(kept), present(seenAs(owner(themLabel))), Deletion{Prune: inventory.PrunePolicyKeep}, Gone, taken},
		{"others have created it again", recorded(kept), present(seenAs(another)), Deletion{Prune: inventory.PrunePolicyKeep}, Stay, keptText},
		{"its deletion has begun", recorded(ongoing), present(seenAs()), Deletion{Prune: inventory.PrunePolicyKeep}, RequestDeletion, ""},
		{"it is orphaned", recorded(scheduled), present(seenAs()), Deletion{Prune: inventory.PrunePolicyKeep, Orphan: true}, Orphan, ""},
		{"it goes with its owner", recorded(kept), present(seenAs()), Deletion{}, RequestDeletion, ""},
		{"nobody has approved it", recorded(scheduled), present(seenAs()), Deletion{Prune: inventory.PrunePolicyConfirm}, AwaitApproval, unapprovedText},
		{"a user has approved it", recorded(scheduled, approved), present(seenAs()), Deletion{Prune: inventory.PrunePolicyConfirm}, RequestDeletion, ""},
		{"it was approved, and the deletion was lost", recorded(ongoing), present(seenAs()), Deletion{Prune: inventory.PrunePolicyConfirm}, RequestDeletion, ""},
		{"it is orphaned without approval", recorded(scheduled), present(seenAs()), Deletion{Prune: inventory.PrunePolicyConfirm, Orphan: true}, Orphan, ""},
		{"approval is not asked for what others delete", recorded(scheduled), present(seenAs(deleting)), Deletion{Prune: inventory.PrunePolicyConfirm}, AwaitEnd, "being deleted: finalizers remain: a/b"},
		{"it is deleted", recorded(scheduled), present(seenAs()), Deletion{Prune: inventory.PrunePolicyDelete}, RequestDeletion, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			t.Parallel()
			if action, text := Delete(tc.item, tc.s, tc.d); action != tc.want || text != tc.text {
				t.Errorf("got %d %q, want %d %q", action, text, tc.want, tc.text)
			}
		})
	}
}

func goingAway(s Situation) Situation {
	s.Seen.Deleting = true
	return s
}

func definition(i *inventory.Item) {
	i.TypeVersionInfo = inventory.TypeVersionInfo{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
}
