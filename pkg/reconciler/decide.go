// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"fmt"
	"time"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/status"
)

// action is what is to be done about one wanted object.
type action int

const (
	actionKeep     action = iota // nothing; its status counts
	actionCreate                 // create it; fail if it exists
	actionApply                  // apply the manifest to the object that was seen
	actionVerify                 // the same, in the expectation that it has no effect
	actionCompare                // find out whether applying would have an effect, without writing
	actionRecreate               // delete the object that was seen, and create it when it is gone
	actionMark                   // make the object that was seen ours, and leave its content alone
	actionAsk                    // ask the server whether it exists
	actionAwait                  // wait until it is gone
	actionComplete               // it has served its purpose and is gone
	actionReport                 // it was changed by others, and is left alone
	actionRefuse                 // it belongs to somebody else
)

// writes reports whether the action writes to the object that was seen.
func (a action) writes() bool {
	switch a {
	case actionApply, actionVerify, actionRecreate, actionMark:
		return true
	case actionKeep, actionCreate, actionCompare, actionAsk, actionAwait, actionComplete, actionReport, actionRefuse:
		return false
	default:
		return false
	}
}

const (
	changedByOthers = "was changed by others"
	suspected       = "may have been changed by others"
)

// seizes tells whether the object that was seen belongs to somebody else, and is to be taken over in any case.
func (s situation) seizes() bool { return s.takeOver && s.seen.Owner != s.owner }

// decision is an action with its reason.
type decision struct {
	action action
	verb   Verb
	// message says why; empty if nothing is to be done.
	message string
	// again is when the decision should be taken again although nothing may have happened; zero if at an event.
	again time.Duration
}

// situation is all that a decision about one wanted object depends on, besides manifest and record.
type situation struct {
	// owner is the value of our owner label.
	owner string
	// exists tells whether there is an observation.
	exists bool
	// proven means, if it does not exist, that the server said so, not just the cache.
	proven bool
	// typed means, if that is proven, that the server knows the type: it is not just the recorded version that is not served.
	typed bool
	// seen is the observation.
	seen observe.Observation
	// whose is the owner, if the server was asked, and tells.
	whose string
	// rival is who else claims the object, if the server was asked.
	rival rival
	// correction and verification are how long the next one must wait; zero if it may happen now.
	correction, verification time.Duration
	// fight names who changes the object again and again; empty if nobody does.
	fight string
	// takeOver means that it does not matter who owns the object.
	takeOver bool
	// wantedAs is the wanted object that an unwanted one turned out to be; empty if it is none.
	wantedAs string
}

// decideApply decides what to do about a wanted object. It is a pure function.
func decideApply(t *target, item *InventoryItem, s situation) decision {
	switch {
	case !s.exists:
		return decideAbsent(t, item, s)
	case s.seen.Record != "":
		const message = "exists already, and is part of a record of dependents (label %s), which nobody may have as a dependent"
		return decision{action: actionRefuse, message: fmt.Sprintf(message, s.seen.Record)}
	case s.seen.Deleting:
		return decision{action: actionAwait, message: s.leaving()}
	case s.seen.Owner != s.owner:
		return decideForeign(t, item, s)
	case item.Phase == PhaseScheduledForApplication:
		return decideChanged(t, item, s)
	default:
		return decideDrift(t, item, s)
	}
}

func decideAbsent(t *target, item *InventoryItem, s situation) decision {
	if !item.written() {
		return decision{action: actionCreate, verb: VerbCreated, message: "does not exist"}
	}
	finished := t.removesItself && item.Phase == PhaseReady && item.Status != status.FailedStatus
	if !s.proven && (finished || t.drift == DriftPolicyReport) {
		// What follows must not rest on the cache alone: the object may merely have lost its label.
		return decision{action: actionAsk}
	}
	switch {
	case finished:
		return decision{action: actionComplete, verb: VerbCompleted, message: "has finished, and is gone"}
	case t.drift == DriftPolicyReport:
		return decision{action: actionReport, message: "was deleted by others"}
	case s.correction > 0:
		return decision{action: actionReport, message: orDefault(s.fight, "is deleted by others again and again"), again: s.correction}
	default:
		return decision{action: actionCreate, verb: VerbCorrected, message: "was deleted by others"}
	}
}

// decideForeign is about an object that does not carry our label.
func decideForeign(t *target, item *InventoryItem, s situation) decision {
	if s.seizes() {
		return decideTakeOver(t, item, s)
	}
	if s.seen.Owner == "" && !s.proven {
		// Who else claims the object is not known yet.
		return decision{action: actionAsk}
	}
	if s.unlabelled(item) {
		// It is the object that we wrote; only its label is gone. That is drift like any other.
		if !item.written() {
			return decideChanged(t, item, s)
		}
		return correct(t, s, "lost the label that marks it as owned")
	}
	if item.written() {
		if d, leave := leaveAlone(t, s, "was created anew, or taken over, by others"); leave {
			return d
		}
	}
	owner := ownership(s)
	adopt := decision{action: actionApply, verb: VerbAdopted, message: "exists already and " + owner}
	switch {
	case t.reconcile == ReconcilePolicyOnce:
		// It exists, which is all that is wanted once. What is in it may be what the manifest would have generated only the first time.
		adopt.action = actionMark
	case t.update == UpdatePolicyRecreate:
		adopt.action = actionRecreate
	}
	switch t.adoption {
	case AdoptionPolicyAlways:
		return adopt
	case AdoptionPolicyIfUnowned:
		if s.seen.Owner == "" && s.rival.text == "" {
			return adopt
		}
	case AdoptionPolicyNever:
	}
	return decision{action: actionRefuse, message: fmt.Sprintf("exists already and %s, and its adoption policy is %s", owner, annotations.Kebab(string(t.adoption)))}
}

// unlabelled reports whether the object that was seen is the recorded one, and was written by us, although our label is gone. The
// recorded UID alone proves nothing, because whoever may write the record can make it up.
func (s situation) unlabelled(item *InventoryItem) bool {
	recorded := s.seen.Owner == "" && item.UID != "" && s.seen.UID == item.UID
	lost := s.rival.operator == "" && (s.whose == "" || digest.OwnerLabel(s.whose) == s.owner)
	return recorded && lost && s.seen.Fingerprint != ""
}

func ownership(s situation) string {
	switch {
	case s.seen.Owner == "" && s.rival.text != "":
		return s.rival.text
	case s.seen.Owner == "":
		return "has no owner"
	case s.whose == "" || digest.OwnerLabel(s.whose) != s.seen.Owner:
		return "has another owner"
	default:
		return "has another owner, " + s.whose
	}
}

// decideTakeOver is about a foreign object that is to be ours in any case. It must not be deleted, be it in order to be created anew.
func decideTakeOver(t *target, item *InventoryItem, s situation) decision {
	d := decision{action: actionApply, verb: VerbAdopted, message: "is taken over, and " + ownership(s)}
	if t.reconcile == ReconcilePolicyOnce && item.written() {
		d.action = actionMark
	}
	return d
}

// decideChanged is about an object that has to be written because its manifest changed, or was never written.
func decideChanged(t *target, item *InventoryItem, s situation) decision {
	d := decision{action: actionApply, verb: VerbUpdated, message: "the manifest changed"}
	if item.UID == "" && item.LastAppliedAt == nil {
		// We created it, but did not live to record it.
		d.verb, d.message = VerbCreated, "exists, and its creation was not recorded"
		if t.reconcile == ReconcilePolicyOnce {
			// The content came with the creation, and may have changed since if it is the whole record that was lost.
			d.action = actionMark
			return d
		}
	}
	// If it is not the object that was recorded, the manifest may be what was written already: then applying it has no
	// effect, and nothing needs to be created anew.
	if t.update == UpdatePolicyRecreate && item.UID != "" && s.seen.UID == item.UID {
		d.action = actionRecreate
	}
	return d
}

// decideDrift is about an object that was written, and may have been changed by others since.
func decideDrift(t *target, item *InventoryItem, s situation) decision {
	if t.reconcile == ReconcilePolicyOnce || t.drift == DriftPolicyIgnore {
		return decision{action: actionKeep}
	}
	switch {
	case item.UID != "" && s.seen.UID != item.UID:
		return correct(t, s, "was created anew by others")
	case item.Fingerprint != "" && s.seen.Fingerprint != item.Fingerprint:
		return correct(t, s, changedByOthers)
	case item.Baseline != "" && item.Baseline == s.seen.Baseline():
		return decision{action: actionKeep}
	case s.verification > 0:
		return decision{action: actionKeep, again: s.verification}
	case t.drift == DriftPolicyReport:
		return decision{action: actionCompare}
	default:
		return decision{action: actionVerify, verb: VerbCorrected, message: suspected}
	}
}

// correct has drift corrected unless it is to be left alone.
func correct(t *target, s situation, what string) decision {
	if d, leave := leaveAlone(t, s, what); leave {
		return d
	}
	return decision{action: actionApply, verb: VerbCorrected, message: what}
}

// leaveAlone tells whether drift is reported instead of corrected, for good or for now.
func leaveAlone(t *target, s situation, what string) (decision, bool) {
	switch {
	case t.drift == DriftPolicyReport:
		return decision{action: actionReport, message: what}, true
	case t.drift == DriftPolicyIgnore, t.reconcile == ReconcilePolicyOnce:
		return decision{action: actionKeep}, true
	case s.correction > 0:
		return decision{action: actionReport, message: orDefault(s.fight, what+" again and again"), again: s.correction}, true
	default:
		return decision{}, false
	}
}
