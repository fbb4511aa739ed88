// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
)

// RecordNotes records the notes and tests of a plan that was carried out without a new revision, and returns which of
// them differ from the recorded ones, as a text; empty if none does. They come with a revision of their own, of which
// nothing is to be applied; it takes the place of a former revision of this kind, so that what is always different
// does not supersede the revisions to which a rollback may return. It records nothing unless the release is ready,
// and no notes if an earlier version of clm has recorded the current revision. It neither waits for others nor
// cancels what they do: the error is a LockedError if another process has the lock, and one of which IsChanged is
// true if one has changed the release since the plan was made.
func RecordNotes(ctx context.Context, p *Plan, options Options) (string, error) {
	current := p.Release.Current()
	var changed []string
	if current.NotesDigest != "" && current.NotesDigest != p.Content.NotesDigest() {
		changed = append(changed, "notes")
	}
	if p.otherTests {
		changed = append(changed, "tests")
	}
	if p.Release.State != releases.StateReady || len(changed) == 0 {
		return "", nil
	}
	what := strings.Join(changed, " and ")
	next := *current
	next.Number, next.Basis, next.Description = current.Number+1, cmp.Or(current.Basis, current.Number), what+" changed"
	next.Created, next.Target = time.Time{}, 0
	replaced := int64(0)
	if count := len(p.Release.Revisions); count > 1 && p.Release.Revisions[count-2].SameButNotes(current) {
		replaced = current.Number
	}
	o, done, err := runner.Begin(ctx, p.connection, p.Release, runner.NewQuietBoard(p.connection, string(p.Operation)), runner.Limits{LockTimeout: -1})
	if err != nil {
		return what, err
	}
	defer done()
	if err := o.ConfirmUnchanged(ctx); err != nil {
		return what, err
	}
	err = options.makeRoom(p.Release, func(release *releases.Release) error {
		return p.connection.Records().Amend(ctx, release, next, p.Content)
	})
	if err != nil {
		return what, o.UnlessChanged(err)
	}
	p.Revision = *p.Release.Current()
	return what, o.Record(ctx, func(release *releases.Release) {
		release.Revisions = slices.DeleteFunc(release.Revisions, func(revision releases.Revision) bool { return revision.Number == replaced })
		options.prune(release)
	})
}
