// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"cmp"
	"strings"
	"time"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// Dependent is one object of a release, and how it stands.
type Dependent struct {
	Object `json:"object"`

	// Status as seen last; may be empty.
	Status status.Status `json:"status"`
	// Message explains the status: why the object is not ready, or is not gone. In an operation it is empty if the
	// object is.
	Message string `json:"message,omitempty"`
	// Wave is the apply order, or the delete order if the release is being deleted.
	Wave int `json:"-"`
	// Phase as recorded; empty means that the object will be applied.
	Phase reconciler.Phase `json:"-"`
	// Verb is what the operation has done to the object; empty if nothing yet.
	Verb reconciler.Verb `json:"-"`
	// Deed is what people are told instead of the verb, in the words of the plan; empty if the verb says it.
	Deed string `json:"-"`
	// State is what all this means.
	State State `json:"-"`
	// Since is when phase, status and verb became what they are; zero if that is not known.
	Since time.Time `json:"-"`
}

// Done says to people what the operation has done to the object; empty if nothing yet.
func (d Dependent) Done() string { return cmp.Or(d.Deed, strings.ToLower(string(d.Verb))) }

// State says how far a dependent is on its way.
type State string

const (
	// StatePending means that its turn has not come.
	StatePending State = "pending"
	// StateUnready means that it is not ready yet, or not gone yet, or was lost, perhaps to another owner.
	StateUnready State = "unready"
	// StateFailed means that it will not become ready by itself.
	StateFailed State = "failed"
	// StateReady means that it is as it should be.
	StateReady State = "ready"
	// StateCompleted means that it has served its purpose and was removed.
	StateCompleted State = "completed"
	// StateStays means that it stays although the release, or its revision, does not want it any more.
	StateStays State = "stays"
	// StateGone means that it was not wanted any more, and is gone.
	StateGone State = "gone"
)

// IsProblem reports whether a dependent is not ready, or not gone, although its turn has come.
func (s State) IsProblem() bool { return s == StateUnready || s == StateFailed }

// IsDone reports whether nothing is left to be done about a dependent.
func (s State) IsDone() bool {
	return s == StateReady || s == StateCompleted || s == StateStays || s == StateGone
}

// StateInOperation returns the state of a dependent from what an operation knows about it: its phase, verb and message.
// An object has also failed if the engine says so.
func StateInOperation(d Dependent, failed bool) State {
	switch {
	case failed:
		return StateFailed
	case d.Verb == reconciler.VerbDeleted:
		return StateGone
	case d.Verb == reconciler.VerbOrphaned:
		return StateStays
	}
	switch d.Phase {
	case reconciler.PhaseFailed:
		return StateFailed
	case reconciler.PhaseKept:
		return StateStays
	case reconciler.PhaseCompleted:
		return StateCompleted
	case reconciler.PhaseCreating, reconciler.PhaseUpdating, reconciler.PhaseDeleting, reconciler.PhaseCompleting:
		return StateUnready
	case reconciler.PhaseReady:
		if d.Message == "" {
			return StateReady
		}
	case reconciler.PhaseScheduledForApplication, reconciler.PhaseScheduledForDeletion, reconciler.PhaseScheduledForCompletion, "":
		if d.Message == "" {
			return StatePending
		}
	}
	return StateUnready
}

// Label is the one word for what happens to the dependent in an operation.
func (d Dependent) Label() string {
	switch {
	case d.State == StateFailed:
		return "failed"
	case d.State == StateUnready && (d.Phase == "" || d.Phase == reconciler.PhaseReady || strings.HasPrefix(string(d.Phase), "Scheduled")):
		return "waiting"
	case d.State == StatePending:
		return "pending"
	case d.Verb == reconciler.VerbDeleted || d.Verb == reconciler.VerbOrphaned:
		return strings.ToLower(string(d.Verb))
	default:
		return strings.ToLower(string(d.Phase))
	}
}
