// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"fmt"
	"slices"
	"strings"
)

// State is where a release stands.
type State string

const (
	// StateApplying means that the current revision was begun, and neither became ready nor failed.
	StateApplying State = "Applying"
	// StateReady means that the current revision was ready when it was last applied.
	StateReady State = "Ready"
	// StateFailed means that the last attempt to apply the current revision has ended without success.
	StateFailed State = "Failed"
	// StateDeleting means that the deletion was begun; there is no way back.
	StateDeleting State = "Deleting"
)

// nextStates are all states that may follow a state that is recorded; the empty one stands for a record that does not
// exist yet, or was lost.
var nextStates = map[State][]State{
	"":            {StateApplying, StateDeleting},
	StateApplying: {StateApplying, StateReady, StateFailed, StateDeleting},
	StateReady:    {StateReady, StateApplying, StateFailed, StateDeleting},
	StateFailed:   {StateFailed, StateApplying, StateDeleting},
	StateDeleting: {StateDeleting},
}

// checkState refuses a state that may not follow another one.
func checkState(before, next State) error {
	allowed := nextStates[before]
	if slices.Contains(allowed, next) {
		return nil
	}
	texts := make([]string, len(allowed))
	for i, state := range allowed {
		texts[i] = string(state)
	}
	return fmt.Errorf("state %q cannot follow %q; must be one of: %s", next, before, strings.Join(texts, ", "))
}

// RevisionState is where a revision stands.
type RevisionState string

const (
	// RevisionApplying means that the revision is the current one, and was begun.
	RevisionApplying RevisionState = "Applying"
	// RevisionReady means that the revision is the current one, and became ready; whether it still is, the state of the
	// release tells.
	RevisionReady RevisionState = "Ready"
	// RevisionFailed means that the revision never became ready.
	RevisionFailed RevisionState = "Failed"
	// RevisionSuperseded means that the revision became ready before the next one was begun.
	RevisionSuperseded RevisionState = "Superseded"
)

// succeeded is what becomes of a revision when the next one is begun.
func (s RevisionState) succeeded() RevisionState {
	switch s {
	case RevisionReady, RevisionSuperseded:
		return RevisionSuperseded
	case RevisionApplying, RevisionFailed:
		return RevisionFailed
	default:
		return RevisionFailed
	}
}
