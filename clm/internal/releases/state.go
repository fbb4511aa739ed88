// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

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
	if s == RevisionReady || s == RevisionSuperseded {
		return RevisionSuperseded
	}
	return RevisionFailed
}
