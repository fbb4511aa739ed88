// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/views"
)

// acknowledge checks, before a revision is replaced, whether it has become ready after the process that applied it had
// stopped waiting. If so, it counts as ready: the next revision is no installation, and a revert returns to this one.
// That it was canceled before does not matter any more. The record says so as soon as the next revision is recorded.
func acknowledge(ctx context.Context, c *runner.Connection, release *releases.Release) error {
	if release.Current().State == releases.RevisionReady {
		return nil
	}
	ready, err := becameReady(ctx, c, release)
	if ready {
		current := release.Current()
		current.State, current.CanceledBy, release.State, release.Message = releases.RevisionReady, "", releases.StateReady, ""
		current.Failure = ""
	}
	return err
}

// becameReady reports whether the current revision is recorded as ready, or has become so after the process that
// applied it had stopped waiting.
func becameReady(ctx context.Context, c *runner.Connection, release *releases.Release) (bool, error) {
	if release.Current().State == releases.RevisionReady {
		return true, nil
	}
	snapshot, err := views.Look(ctx, c, release.Namespace, release.Name, views.NoReasons)
	if err != nil {
		return false, err
	}
	return snapshot.Release != nil && snapshot.Release.SameRecord(release) && snapshot.BecameReady(), nil
}
