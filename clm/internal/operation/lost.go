// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// confirmNew returns an error if a release without a record is not new: its record was lost, and with it which objects
// are redundant, and which were applied once only. The error is a RefusedError, or one of which IsChanged is true if
// there is a record by now. For a user who may not list Secrets, only the objects show that.
func confirmNew(ctx context.Context, records *releases.Store, plan *Plan) error {
	release := plan.Release
	if release.Recorded() || release.Ancestor {
		return nil
	}
	evidence := markedText(plan.Changes)
	if evidence == "" {
		parts, err := records.HasParts(ctx, release.Namespace, release.Name)
		switch {
		case apierrors.IsForbidden(err):
			return nil
		case err != nil:
			return err
		case !parts:
			return nil
		}
		evidence = "there are parts of a record"
	}
	_, err := records.Get(ctx, release.Namespace, release.Name)
	switch {
	case err == nil:
		return &releases.ChangedError{Release: release.String()}
	case !errors.Is(err, releases.ErrNotFound):
		return err
	}
	return releases.Refused("there is no record of release %[1]s, but %[2]s: the record was lost. To rebuild it: clm doctor %[3]s -n %[4]s --fix. "+
		"Before that, remove the label %[5]s from objects that do not belong to the release, such as copies",
		release, evidence, release.Name, release.Namespace, releases.Label)
}

// shownMarked bounds how many objects an error names.
const shownMarked = 5

// markedText names the objects that exist with the mark of a release but are not recorded; empty if there are none.
// Since nothing is recorded of any object, the engine would adopt objects without the mark, and update those with it.
func markedText(changes []reconciler.Change) string {
	var marked []string
	for _, change := range changes {
		if change.Verb == reconciler.VerbUpdated && change.UID != "" {
			marked = append(marked, change.Object.String())
		}
	}
	if len(marked) == 0 {
		return ""
	}
	return "its mark is on " + display.Enumerate(marked, shownMarked)
}
