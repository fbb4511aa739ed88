// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decisions

import (
	"cmp"
	"fmt"
	"time"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler/internal/targets"
	"github.com/component-operator/runtime/pkg/status"
)

// Action is what is to be done about one wanted object.
type Action int

const (
	Keep     Action = iota // nothing; its status counts
	Create                 // create it; fail if it exists
	Write                  // apply the manifest to the object that was seen
	Verify                 // the same, in the expectation that it has no effect
	Compare                // find out whether applying would have an effect, without writing
	Recreate               // delete the object that was seen, and create it when it is gone
	Mark                   // make the object that was seen ours, and leave its content alone
	Ask                    // ask the server whether it exists
	Await                  // wait until it is gone
	Complete               // it has served its purpose and is gone
	Report                 // it was changed by others, and is left alone
	Refuse                 // it belongs to somebody else
)

// Writes reports whether the action writes to the object that was seen.
func (a Action) Writes() bool {
	switch a {
	case Write, Verify, Recreate, Mark:
		return true
	case Keep, Create, Compare, Ask, Await, Complete, Report, Refuse:
		return false
	default:
		return false
	}
}

const (
	ChangedByOthers = "was changed by others"
	Suspected       = "may have been changed by others"
)

// Decision is an action with its reason.
type Decision struct {
	Action Action
	Verb   inventory.Verb
	// Message says why; empty if nothing is to be done.
	Message string
	// Again is when the decision should be taken again although nothing may have happened; zero if at an event.
	Again time.Duration
}

// Apply decides what to do about a wanted object. It is a pure function.
func Apply(t *targets.Target, item *inventory.Item, s Situation) Decision {
	switch {
	case !s.Exists:
		return decideAbsent(t, item, s)
	case s.Seen.Record != "":
		const message = "exists already, and is part of a record of dependents (label %s), which nobody may have as a dependent"
		return Decision{Action: Refuse, Message: fmt.Sprintf(message, s.Seen.Record)}
	case s.Seen.Deleting:
		return Decision{Action: Await, Message: s.leaving()}
	case s.Seen.Owner != s.Owner:
		return Foreign(t, item, s)
	case item.Phase == inventory.PhaseScheduledForApplication:
		return decideChanged(t, item, s)
	default:
		return decideDrift(t, item, s)
	}
}

func decideAbsent(t *targets.Target, item *inventory.Item, s Situation) Decision {
	if !records.IsWritten(item) {
		return Decision{Action: Create, Verb: inventory.VerbCreated, Message: "does not exist"}
	}
	finished := t.RemovesItself && item.Phase == inventory.PhaseReady && item.Status != status.FailedStatus
	if !s.Proven && (finished || t.Drift == inventory.DriftPolicyReport) {
		// What follows must not rest on the cache alone: the object may merely have lost its label.
		return Decision{Action: Ask}
	}
	switch {
	case finished:
		return Decision{Action: Complete, Verb: inventory.VerbCompleted, Message: "has finished, and is gone"}
	case t.Drift == inventory.DriftPolicyReport:
		return Decision{Action: Report, Message: "was deleted by others"}
	case s.Correction > 0:
		return Decision{Action: Report, Message: cmp.Or(s.Fight, "is deleted by others again and again"), Again: s.Correction}
	default:
		return Decision{Action: Create, Verb: inventory.VerbCorrected, Message: "was deleted by others"}
	}
}

// Foreign is about an object that does not carry our label.
func Foreign(t *targets.Target, item *inventory.Item, s Situation) Decision {
	if s.Seizes() {
		return decideTakeOver(t, item, s)
	}
	if s.Seen.Owner == "" && !s.Proven {
		// Who else claims the object is not known yet.
		return Decision{Action: Ask}
	}
	if s.unlabelled(item) {
		// It is the object that we wrote; only its label is gone. That is drift like any other.
		if !records.IsWritten(item) {
			return decideChanged(t, item, s)
		}
		return correct(t, s, "lost the label that marks it as owned")
	}
	if records.IsWritten(item) {
		if d, leave := leaveAlone(t, s, "was created anew, or taken over, by others"); leave {
			return d
		}
	}
	owner := ownership(s)
	adopt := Decision{Action: Write, Verb: inventory.VerbAdopted, Message: "exists already and " + owner}
	switch {
	case t.Reconcile == inventory.ReconcilePolicyOnce:
		// It exists, which is all that is wanted once. What is in it may be what the manifest would have generated only the first time.
		adopt.Action = Mark
	case t.Update == inventory.UpdatePolicyRecreate:
		adopt.Action = Recreate
	}
	switch t.Adoption {
	case inventory.AdoptionPolicyAlways:
		return adopt
	case inventory.AdoptionPolicyIfUnowned:
		if s.Seen.Owner == "" && s.Rival.text == "" {
			return adopt
		}
	case inventory.AdoptionPolicyNever:
	}
	return Decision{Action: Refuse, Message: fmt.Sprintf("exists already and %s, and its adoption policy is %s", owner, annotations.Kebab(string(t.Adoption)))}
}

func ownership(s Situation) string {
	switch {
	case s.Seen.Owner == "" && s.Rival.text != "":
		return s.Rival.text
	case s.Seen.Owner == "":
		return "has no owner"
	case s.Whose == "" || digest.OwnerLabel(s.Whose) != s.Seen.Owner:
		return "has another owner"
	default:
		return "has another owner, " + s.Whose
	}
}

// decideTakeOver is about a foreign object that is to be ours in any case. It must not be deleted, be it in order to be created anew.
func decideTakeOver(t *targets.Target, item *inventory.Item, s Situation) Decision {
	d := Decision{Action: Write, Verb: inventory.VerbAdopted, Message: "is taken over, and " + ownership(s)}
	if t.Reconcile == inventory.ReconcilePolicyOnce && records.IsWritten(item) {
		d.Action = Mark
	}
	return d
}

// decideChanged is about an object that has to be written because its manifest changed, or was never written.
func decideChanged(t *targets.Target, item *inventory.Item, s Situation) Decision {
	d := Decision{Action: Write, Verb: inventory.VerbUpdated, Message: "the manifest changed"}
	if item.UID == "" && item.LastAppliedAt == nil {
		// We created it, but did not live to record it.
		d.Verb, d.Message = inventory.VerbCreated, "exists, and its creation was not recorded"
		if t.Reconcile == inventory.ReconcilePolicyOnce {
			// The content came with the creation, and may have changed since if it is the whole record that was lost.
			d.Action = Mark
			return d
		}
	}
	// If it is not the object that was recorded, the manifest may be what was written already: then applying it has no
	// effect, and nothing needs to be created anew.
	if t.Update == inventory.UpdatePolicyRecreate && item.UID != "" && s.Seen.UID == item.UID {
		d.Action = Recreate
	}
	return d
}

// decideDrift is about an object that was written, and may have been changed by others since.
func decideDrift(t *targets.Target, item *inventory.Item, s Situation) Decision {
	if t.Reconcile == inventory.ReconcilePolicyOnce || t.Drift == inventory.DriftPolicyIgnore {
		return Decision{Action: Keep}
	}
	switch {
	case item.UID != "" && s.Seen.UID != item.UID:
		return correct(t, s, "was created anew by others")
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

// correct has drift corrected unless it is to be left alone.
func correct(t *targets.Target, s Situation, what string) Decision {
	if d, leave := leaveAlone(t, s, what); leave {
		return d
	}
	return Decision{Action: Write, Verb: inventory.VerbCorrected, Message: what}
}

// leaveAlone reports whether drift is reported instead of corrected, for good or for now.
func leaveAlone(t *targets.Target, s Situation, what string) (Decision, bool) {
	switch {
	case t.Drift == inventory.DriftPolicyReport:
		return Decision{Action: Report, Message: what}, true
	case t.Drift == inventory.DriftPolicyIgnore, t.Reconcile == inventory.ReconcilePolicyOnce:
		return Decision{Action: Keep}, true
	case s.Correction > 0:
		return Decision{Action: Report, Message: cmp.Or(s.Fight, what+" again and again"), Again: s.Correction}, true
	default:
		return Decision{}, false
	}
}
