// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decisions

import (
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/kinds"
)

// Deletion says how a dependent is to go.
type Deletion struct {
	Orphan bool           // release it instead
	Verb   inventory.Verb // what is reported when it is gone
	Wave   int            // in which this happens
}

// Ending is what is to be done about one unwanted object.
type Ending int

const (
	Gone            Ending = iota // it is gone, or not ours (any more)
	AwaitEnd                      // it is being deleted
	RequestDeletion               // request its deletion
	Release                       // release it
	Forget                        // it stays, because it is wanted under another type
	RefuseEnd                     // it must not be deleted, and cannot be forgotten either
)

// notOurs says why a recorded object is neither deleted nor released.
const notOurs = "is recorded as a dependent, but has neither our label nor fields that we wrote, and is left alone"

// recordsStay says why an object that is recorded as a dependent, and in which somebody records his dependents, is neither deleted nor released.
const recordsStay = "is part of a record of dependents, and is left alone"

// Delete decides what to do about an unwanted object. It is a pure function.
func Delete(item *inventory.Item, s Situation, orphan bool) (Ending, string) {
	switch {
	case !s.Exists:
		return Gone, ""
	case s.WantedAs != "":
		return Forget, "is the same object as " + s.WantedAs + ", which stays"
	}
	if why, foreign := s.foreign(item); foreign {
		return Gone, why
	}
	switch {
	case orphan && s.wasReleased(item):
		return Gone, ""
	case s.Seen.Deleting:
		return AwaitEnd, s.leaving()
	case orphan:
		return Release, ""
	case item.UID != "" && s.Seen.UID != item.UID && item.Phase != inventory.PhaseScheduledForDeletion && item.Phase != inventory.PhaseScheduledForCompletion:
		return RefuseEnd, "was created anew by others while it was being deleted, and is marked as owned; remove the mark to keep it, or delete it"
	default:
		return RequestDeletion, ""
	}
}

// foreign reports whether a recorded object is neither deleted nor released, and what to say of that.
func (s Situation) foreign(item *inventory.Item) (why string, foreign bool) {
	switch {
	case s.isOthers(item):
		return s.taker(), true
	case s.Seen.Record != "":
		return recordsStay, true
	case s.Seen.Owner == "" && !s.unlabelled(item):
		// A record is no proof: whoever may write it could have anything deleted.
		return notOurs, true
	default:
		return "", false
	}
}

// leaving says about an object that is being deleted what it waits for, if that is known.
func (s Situation) leaving() string {
	const plain = "being deleted"
	if s.Seen.Message == "" || s.Seen.Message == plain {
		return plain
	}
	return plain + ": " + s.Seen.Message
}

// isOthers reports whether the object that was seen is not the recorded one, or not ours any more.
func (s Situation) isOthers(item *inventory.Item) bool {
	if s.Seen.Owner != "" {
		// Another owner has taken it over; so it stays.
		return s.Seen.Owner != s.Owner
	}
	// Somebody created another object of that name, or took the marks off one of which we have no better proof.
	return s.Seen.UID != item.UID
}

// taker says why an object stays that carries the label of another owner; empty if it carries none.
func (s Situation) taker() string {
	switch {
	case s.Seen.Owner == "":
		return ""
	case s.Whose == "" || digest.OwnerLabel(s.Whose) != s.Seen.Owner:
		return "belongs to another owner by now, and is left alone"
	default:
		return "belongs to " + s.Whose + " by now, and is left alone"
	}
}

// wasReleased reports whether nothing is left to be removed from an object that is to be released: a process has done that, and died before it could
// record it. The object may belong to others by now.
func (s Situation) wasReleased(item *inventory.Item) bool {
	// A finalizer may have stayed on what defines types.
	return s.Proven && s.Seen.Owner == "" && s.Whose == "" && !kinds.DefinesTypes(item.GroupVersionKind().GroupKind())
}
