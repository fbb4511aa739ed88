// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
)

// RecordNotes records the notes of a plan that was carried out without a new revision, and reports whether they differ from the recorded ones. They come with a revision of
// their own, of which nothing is to be applied; it takes the place of a former revision of this kind, so that notes that are always different do not supersede the revisions to
// which a rollback may return. It records nothing unless the release is ready, or if an earlier version of clm has recorded the current revision. It neither waits for others nor
// cancels what they do: the error is a LockedError if another process has the lock, and one of which IsChanged is true if one has changed the release since the plan was made.
func RecordNotes(ctx context.Context, p *Plan, options Options) (bool, error) {
	current := p.Release.Current()
	if p.Release.State != releases.StateReady || current.NotesDigest == "" || current.NotesDigest == p.Content.NotesDigest() {
		return false, nil
	}
	next := *current
	next.Number, next.Basis, next.Description = current.Number+1, cmp.Or(current.Basis, current.Number), "notes changed"
	next.Created, next.Target = time.Time{}, 0
	replaced := int64(0)
	if count := len(p.Release.Revisions); count > 1 && p.Release.Revisions[count-2].SameButNotes(current) {
		replaced = current.Number
	}
	o, done, err := runner.Begin(ctx, p.connection, p.Release, runner.NewQuietBoard(p.connection, string(p.Operation)), runner.Limits{LockTimeout: -1})
	if err != nil {
		return false, err
	}
	defer done()
	if err := o.ConfirmUnchanged(ctx); err != nil {
		return false, err
	}
	err = options.makeRoom(p.Release, func(release *releases.Release) error {
		return p.connection.Records().Amend(ctx, release, next, p.Content)
	})
	if err != nil {
		return false, o.UnlessChanged(err)
	}
	p.Revision = *p.Release.Current()
	return true, o.Record(ctx, func(release *releases.Release) {
		release.Revisions = slices.DeleteFunc(release.Revisions, func(revision releases.Revision) bool { return revision.Number == replaced })
		options.prune(release)
	})
}
