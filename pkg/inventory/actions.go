// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"time"

	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Verb says what was done to an object.
type Verb string

const (
	// VerbCreated means that the object did not exist.
	VerbCreated Verb = "Created"
	// VerbAdopted means that the object existed without being owned.
	VerbAdopted Verb = "Adopted"
	// VerbUpdated means that the manifest changed, or that the object existed and nothing was recorded of it.
	VerbUpdated Verb = "Updated"
	// VerbCorrected means that others had changed the object.
	VerbCorrected Verb = "Corrected"
	// VerbRestored means that others had deleted the object.
	VerbRestored Verb = "Restored"
	// VerbDeleted means that the object is gone.
	VerbDeleted Verb = "Deleted"
	// VerbCompleted means that the object was purged.
	VerbCompleted Verb = "Completed"
	// VerbOrphaned means that the object no longer belongs to the owner, and still exists.
	VerbOrphaned Verb = "Orphaned"
)

const (
	// ReasonMissing is the reason for creating an object about which there is nothing else to say.
	ReasonMissing = "does not exist"
	// ReasonUnchanged is the reason of a planned update by which nothing in the object changes.
	ReasonUnchanged = "is applied again, without a change"
)

// IsCorrection reports whether drift was corrected: others had changed or deleted the object.
func (v Verb) IsCorrection() bool { return v == VerbCorrected || v == VerbRestored }

// Action says what was done to the objects of one wave.
type Action struct {
	// Verb is what was done.
	Verb Verb
	// Wave is the apply order (for deletions: the delete order).
	Wave int
	// Objects are sorted by type and name.
	Objects []types.ObjectKey
	// Reasons say for each of the objects why, in a text such as "the manifest changed"; empty where there is nothing
	// to say.
	Reasons []string
}

// Notice says something about one object.
type Notice struct {
	// Object is type and name.
	Object types.ObjectKey
	// Message is a text such as "1/3 replicas available". It changes only if the situation does.
	Message string
	// Doomed means that waiting is useless: the namespace of the object is being deleted.
	Doomed bool
	// Reason says in one word why the object is not ready, in the vocabulary of its judge, such as "Scaling", or
	// NoticeReasonBlocked; empty if its judge has no such words, and for other notices.
	Reason string
	// Grade says how well the object does its job meanwhile; empty if that is not known.
	Grade status.Grade
	// Grace is how long the object may be not ready before its grade counts (see behaviors.Graceful); zero if there is
	// no limit.
	Grace time.Duration
	// Recreating means that the object is being deleted, and that a later call creates it again.
	Recreating bool
}

// NoticeReasonBlocked is the Notice.Reason of an object that is held back by a guard, by missing data, or because its
// type is not served.
const NoticeReasonBlocked = "Blocked"

// Unhealthy is a dependent that does its job in part, or not at all.
type Unhealthy struct {
	Notice
	// Grade is GradeDegraded or GradeDown.
	Grade status.Grade
}
