// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"

	"github.com/component-operator/runtime/clm/internal/releases"
)

// acknowledge finds out, before a revision is replaced, whether it has become ready after those who applied it had ceased to wait. Then it counts as ready:
// what follows is no installation, and a revert returns to it. The record says so as soon as the next revision is recorded.
func (s *Session) acknowledge(ctx context.Context, release *releases.Release) error {
	current := release.Current()
	if current.State == releases.RevisionReady {
		return nil
	}
	standing, err := s.Look(ctx, release.Namespace, release.Name, true)
	if err != nil {
		return err
	}
	if standing.Release != nil && standing.Release.SameRecord(release) && standing.becameReady() {
		current.State, release.State, release.Message = releases.RevisionReady, releases.StateReady, ""
	}
	return nil
}
