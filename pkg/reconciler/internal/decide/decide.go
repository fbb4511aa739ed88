// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"time"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
)

// Action is what to do about one wanted object.
type Action int

const (
	Keep     Action = iota // leave it as it is; its status counts
	Create                 // create it; fail if it exists
	Write                  // apply the manifest to the observed object
	Verify                 // the same, expecting no change
	Compare                // find out by a dry run whether applying would change it
	Recreate               // delete the observed object, and create it when it is gone
	Mark                   // set our label and annotations on the observed object, without changing its content
	Ask                    // read it from the server, and decide again
	Await                  // wait until it is gone
	Complete               // record that it has served its purpose and is gone
	Dismiss                // record that it has failed and is gone
	Report                 // report that others changed it, and leave it as it is
	Refuse                 // fail, because it belongs to another owner
	Cede                   // leave it to the newer sibling that has, or had, it; its status counts
)

const (
	RunsAgain       = "has failed, and will run again"
	ChangedByOthers = "was changed by another client"
	Suspected       = "may have been changed by another client"
	ManifestChanged = "the manifest changed"
	Unrecorded      = "exists, but its creation was not recorded"

	// alreadyExists begins what is said about an object that would have to be adopted.
	alreadyExists = "already exists"
)

// Decision is an action with its reason.
type Decision struct {
	Action Action
	Verb   inventory.Verb
	// Message is the reason; empty for actions that need none.
	Message string
	// Again is how long to wait before deciding again even if no event arrives; zero if only an event can change the
	// decision.
	Again time.Duration
}

// MayChangeNothing reports whether the manifest is applied because it differs from the recorded one, which may never
// have been applied. Hooks count as applied again even if nothing changes.
func (d Decision) MayChangeNothing(t *prepare.Object) bool {
	return d.Action == Write && d.Message == ManifestChanged && t.Reconcile != inventory.ReconcilePolicyOnObjectOrComponentChange
}

// Apply decides what to do about a wanted object. It is a pure function.
func Apply(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	switch {
	case t.Ending && !s.Exists:
		return Decision{Action: Complete, Verb: inventory.VerbCompleted, Message: "is gone, and no longer needed"}
	case !s.Exists:
		return decideAbsent(t, item, s)
	case s.Seen.Record != "":
		const message = alreadyExists + ", is part of a record of dependents (label %s), and cannot be a dependent"
		return Decision{Action: Refuse, Message: fmt.Sprintf(message, s.Seen.Record)}
	case s.Relation == inventory.RelationNewer && !s.TakeOver:
		return Decision{Action: Cede, Message: "was handed over to " + s.Holder}
	case s.Seen.Deleting:
		return Decision{Action: Await, Message: s.deletionText()}
	case t.Ending:
		return Decision{Action: Keep}
	case s.Relation == inventory.RelationOlder && !s.TakeOver:
		return decideHandover(t, s)
	case s.Seen.Owner != s.Owner:
		return Foreign(t, item, s)
	case item.Phase == inventory.PhaseScheduledForApplication:
		return decideChanged(t, item, s)
	default:
		return decideDrift(t, item, s)
	}
}

func decideAbsent(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	if s.Relation == inventory.RelationNewer {
		return decideCededAbsent(t, item, s)
	}
	if !IsWritten(item) {
		return Decision{Action: Create, Verb: inventory.VerbCreated, Message: inventory.ReasonMissing}
	}
	if d, ended := decideEnded(t, item, s); ended {
		return d
	}
	switch {
	case s.mayBeHidden(t):
		return Decision{Action: Ask}
	case t.Drift == inventory.DriftPolicyReport:
		return Decision{Action: Report, Message: "was deleted by another client"}
	case s.Correction > 0:
		return Decision{Action: Report, Message: s.repeatedlyDeleted(), Again: s.Correction}
	default:
		return Decision{Action: Create, Verb: inventory.VerbRestored, Message: "was deleted by another client"}
	}
}

// decideEnded decides about an object that does not exist because it has ended. It reports whether it is such an
// object.
func decideEnded(t *prepare.Object, item *inventory.Item, s Situation) (d Decision, ended bool) {
	finished := t.RemovesItself && item.Phase == inventory.PhaseReady && item.Status != status.FailedStatus ||
		s.Ended == status.CurrentStatus && (t.RemovesItself || t.PurgeOrder != nil)
	failed := t.FailsFinally && (item.Status == status.FailedStatus || s.Ended == status.FailedStatus)
	switch {
	case !finished && !failed:
		return Decision{}, false
	case !s.Proven:
		return Decision{Action: Ask}, true
	case failed:
		return Decision{Action: Dismiss, Message: "has failed, and is gone"}, true
	default:
		return Decision{Action: Complete, Verb: inventory.VerbCompleted, Message: "has finished, and is gone"}, true
	}
}

// mayBeHidden reports whether it matters that the cache does not prove that an object is gone: it may only have lost
// its label.
func (s Situation) mayBeHidden(t *prepare.Object) bool {
	return !s.Proven && t.Drift == inventory.DriftPolicyReport
}

// repeatedlyDeleted says why a deleted object is not created again yet. The last correction may have been one of a
// change.
func (s Situation) repeatedlyDeleted() string {
	if s.Fight != "" {
		return "is repeatedly changed or deleted by other clients"
	}
	return "is repeatedly deleted by other clients"
}

// decideCededAbsent decides about an object that does not exist, and that a newer sibling had. A Job that removes
// itself has served its purpose there.
func decideCededAbsent(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	if t.RemovesItself && item.Status == status.CurrentStatus {
		return Decision{Action: Complete, Verb: inventory.VerbCompleted, Message: "has finished, and is gone"}
	}
	return Decision{Action: Cede, Message: "was handed over to " + s.Holder + ", and does not exist"}
}

// Foreign decides about an object without our label.
func Foreign(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	if s.IsTakenOver() {
		return decideTakeOver(t, item, s)
	}
	if s.Seen.Owner == "" && !s.Proven {
		// The cache does not show who else claims the object.
		return Decision{Action: Ask}
	}
	if d, ours := decideUnlabelled(t, item, s); ours {
		return d
	}
	if IsWritten(item) {
		if d, leave := leaveAlone(t, s, "was recreated or adopted by another client"); leave {
			return d
		}
	}
	owner := ownership(s)
	adopt := Decision{Action: Write, Verb: inventory.VerbAdopted, Message: alreadyExists + " and " + owner}
	switch {
	case t.Reconcile == inventory.ReconcilePolicyOnce:
		// The object exists, which is all that the policy asks for. Its content may be what the manifest would have
		// generated only the first time.
		adopt.Action = Mark
	case t.Update == inventory.UpdatePolicyRecreate:
		adopt.Action = Recreate
	}
	if mayAdopt(t, s) {
		return adopt
	}
	return Decision{Action: Refuse, Message: fmt.Sprintf("%s and %s, but its adoption policy is %s", alreadyExists, owner, annotations.Kebab(string(t.Adoption)))}
}

// mayAdopt reports whether the adoption policy permits the adoption of an object without our label.
func mayAdopt(t *prepare.Object, s Situation) bool {
	unowned := s.Seen.Owner == "" && s.Rival.text == ""
	switch t.Adoption {
	case inventory.AdoptionPolicyAlways:
		return true
	case inventory.AdoptionPolicyIfUnowned:
		return unowned
	case inventory.AdoptionPolicyNever:
		// An object that the owner itself has released may be taken back, unless it was written again since.
		return unowned && s.Released && s.Seen.Fingerprint != ""
	}
	return false
}

// decideUnlabelled decides about an object that we wrote, and of which only the label is gone. It reports whether it is
// such an object.
func decideUnlabelled(t *prepare.Object, item *inventory.Item, s Situation) (d Decision, ours bool) {
	switch {
	case !s.unlabelled(item):
		return Decision{}, false
	case !IsWritten(item):
		return decideChanged(t, item, s), true
	default:
		// That is drift like any other.
		return correct(t, s, "lost its owner label"), true
	}
}

func ownership(s Situation) string {
	switch {
	case s.Seen.Owner == "" && s.Rival.text != "":
		return s.Rival.text
	case s.Seen.Owner == "":
		return "has no owner"
	case s.Whose == "" || manifest.OwnerLabel(s.Whose) != s.Seen.Owner:
		return "has another owner"
	case s.Named != "":
		return "belongs to " + s.Named
	default:
		return "has another owner, " + s.Whose
	}
}

// decideTakeOver decides about an object that is adopted from any owner. Such an object must not be deleted, not even
// to be recreated.
func decideTakeOver(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	d := Decision{Action: Write, Verb: inventory.VerbAdopted, Message: alreadyExists + " and " + ownership(s)}
	if t.Reconcile == inventory.ReconcilePolicyOnce && IsWritten(item) {
		d.Action = Mark
	}
	return d
}

// decideHandover decides about an object of an older sibling. It is not recreated as long as it can be updated.
func decideHandover(t *prepare.Object, s Situation) Decision {
	d := Decision{Action: Write, Verb: inventory.VerbAdopted, Message: "is handed over by " + s.Holder}
	if t.Reconcile == inventory.ReconcilePolicyOnce {
		d.Action = Mark
	}
	return d
}

// decideChanged decides about an object whose current manifest was not applied yet.
func decideChanged(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	d := Decision{Action: Write, Verb: inventory.VerbUpdated, Message: ManifestChanged}
	if item.Status == status.FailedStatus {
		d.Message = RunsAgain
	}
	if item.UID == "" && item.LastAppliedAt == nil {
		// We created it, but the process ended before it could record that.
		d.Message = Unrecorded
		if t.Reconcile == inventory.ReconcilePolicyOnce {
			// The creation has set the content. If the whole record was lost, the content may rightly have changed
			// since.
			d.Action = Mark
			return d
		}
	}
	// Another object than the recorded one may have been created from this manifest already. Then applying changes
	// nothing, and there is no need to recreate it. Neither is there to suspend it, and to resume it; if that changes a
	// field that cannot be changed, it is recreated after all.
	isReplaced := t.Update == inventory.UpdatePolicyRecreate || item.Status == status.FailedStatus
	if isReplaced && item.UID != "" && s.Seen.UID == item.UID && !t.Suspended && !s.Seen.Suspended {
		d.Action = Recreate
	}
	return d
}

// decideDrift decides about an object whose current manifest was applied, and which others may have changed since.
func decideDrift(t *prepare.Object, item *inventory.Item, s Situation) Decision {
	if t.Reconcile == inventory.ReconcilePolicyOnce || t.Drift == inventory.DriftPolicyIgnore {
		return Decision{Action: Keep}
	}
	switch {
	case item.UID != "" && s.Seen.UID != item.UID:
		return correct(t, s, "was recreated by another client")
	case item.Fingerprint != "" && s.Seen.Fingerprint != item.Fingerprint:
		return correct(t, s, ChangedByOthers)
	case item.Baseline != "" && item.Baseline == s.Seen.Baseline():
		return Decision{Action: Keep}
	case s.Verification > 0:
		return Decision{Action: Keep, Again: s.Verification}
	case t.Drift == inventory.DriftPolicyReport:
		return Decision{Action: Compare}
	default:
		return Decision{Action: Verify, Verb: inventory.VerbCorrected, Message: Suspected}
	}
}

// correct decides to correct drift, unless leaveAlone says otherwise.
func correct(t *prepare.Object, s Situation, what string) Decision {
	if d, leave := leaveAlone(t, s, what); leave {
		return d
	}
	return Decision{Action: Write, Verb: inventory.VerbCorrected, Message: what}
}

// leaveAlone reports whether drift is not corrected, or not yet.
func leaveAlone(t *prepare.Object, s Situation, what string) (Decision, bool) {
	switch {
	case t.Drift == inventory.DriftPolicyReport:
		return Decision{Action: Report, Message: what}, true
	case t.Drift == inventory.DriftPolicyIgnore, t.Reconcile == inventory.ReconcilePolicyOnce:
		return Decision{Action: Keep}, true
	case s.Correction > 0:
		return Decision{Action: Report, Message: cmp.Or(s.Fight, what+" repeatedly"), Again: s.Correction}, true
	default:
		return Decision{}, false
	}
}
