// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Delete deletes the release and its dependents. The error is a RefusedError if the user has to decide, a NotReadyError
// if not all objects are gone, and an InterruptedError if the context has ended. If IsChanged is true for it, another
// plan is needed, and the end of the operation was not shown.
func (d *Deletion) Delete(ctx context.Context, limits runner.Limits) error {
	b := runner.NewBoard(d.connection, "delete", d.Release.String(), 0)
	err := runner.Interrupted(ctx, d.delete(ctx, limits, b))
	outcome := display.Outcome{Done: err == nil, Summary: fmt.Sprintf("release %s was deleted", d.Release), Next: SparedText(d.spared)}
	if len(d.leftOut) > 0 {
		outcome.Next = "These hooks could not be applied, because their namespaces are being deleted: " + strings.Join(d.leftOut, ", ")
	}
	if err != nil {
		outcome.Summary, outcome.Next = fmt.Sprintf("release %s was not deleted: %s", d.Release, releases.Summary(err)), limits.Next(err, d.Release)
	}
	b.Finish(outcome, err)
	return err
}

func (d *Deletion) delete(ctx context.Context, limits runner.Limits, b *runner.Board) error {
	if obstacle := d.obstacle(); obstacle != "" {
		return releases.Refused("%s", obstacle)
	}
	o, done, err := runner.Begin(ctx, d.connection, d.Release, b, limits)
	if err != nil {
		return err
	}
	defer done()
	if d.Release.State == releases.StateDeleting || d.Release.Ancestor {
		// Otherwise a write follows, which fails if the record has changed since it was read.
		if err := o.ConfirmUnchanged(ctx); err != nil {
			return err
		}
	}
	ctx, stop := o.WatchLock(ctx)
	defer stop()
	again := d.Release.State == releases.StateDeleting && d.Release.Message != ""
	d.Release.State, d.Release.Message = releases.StateDeleting, ""
	if err := d.connection.Records().Save(ctx, d.Release); err != nil {
		return o.UnlessChanged(err)
	}
	ctx, stopTimer := runner.Limited(ctx, limits.Timeout)
	defer stopTimer()
	r := &removal{Deletion: d, operation: o, limits: limits, again: again}
	if err := runner.Interrupted(ctx, r.deleteAll(ctx)); err != nil {
		return errors.Join(err, o.Record(ctx, func(release *releases.Release) { release.Message = err.Error() }))
	}
	err = d.connection.Records().Remove(ctx, d.Release)
	if errors.Is(err, releases.ErrOutdated) {
		if _, gone := d.connection.Records().Get(ctx, d.Release.Namespace, d.Release.Name); errors.Is(gone, releases.ErrNotFound) {
			// It was deleted with its namespace.
			return nil
		}
	}
	return err
}

// removal is a deletion that is being carried out by an operation on its release.
type removal struct {
	*Deletion

	operation *runner.Operation
	limits    runner.Limits
	// again means that the last deletion failed, so failed hooks run again.
	again bool
}

// deleteAll deletes the dependents and runs the hooks. It continues where an earlier deletion has stopped.
func (r *removal) deleteAll(ctx context.Context) error {
	if len(r.Release.TestInventory) > 0 {
		if err := r.deleteTests(ctx); err != nil {
			return err
		}
	}
	if err := r.runHooks(ctx, deletionhooks.PreDelete); err != nil {
		return err
	}
	if !r.Release.DeletionStage.Reached(inventory.DeletionStagePostDelete) {
		if err := r.deleteDependents(ctx); err != nil {
			return err
		}
	}
	return r.runHooks(ctx, deletionhooks.PostDelete)
}

// deleteDependents calls the engine until nothing is left.
func (r *removal) deleteDependents(ctx context.Context) error {
	fence := r.operation.Fence(ctx)
	r.operation.Board().ExpectDeletion(r.Release.Inventory)
	c := &runner.Convergence{
		Target: r.target, Board: r.operation.Board(), Timeout: r.limits.Timeout, Start: "deleting", Phase: runner.DeletedPhase,
		Call: func(ctx context.Context) (reconciler.Result, error) {
			request := r.request()
			request.Store, request.Fence = r.operation, fence
			result, err := r.target.Engine().Delete(ctx, request)
			r.Release.Inventory = result.Inventory
			return result, err
		},
	}
	if _, err := c.Run(ctx); err != nil {
		return errors.Join(err, r.operation.LiftBarriers(ctx, r.target))
	}
	// The record may still contain items, because a deletion does not always update it.
	r.Release.Inventory = nil
	return nil
}

// deleteTests deletes the objects of tests before the release is deleted. They may be instances of types of the release
// and hide foreign instances, so deleteTests looks for blockers again.
func (r *removal) deleteTests(ctx context.Context) error {
	run := &TestRun{Release: r.Release, connection: r.connection, operation: r.operation, request: TestRequest{Limits: r.limits}}
	if err := run.begin(); err != nil {
		return err
	}
	defer run.target.Close()
	if err := run.remove(ctx, nil); err != nil {
		return err
	}
	if err := r.findBlockers(ctx); err != nil {
		return err
	}
	if obstacle := r.obstacle(); obstacle != "" {
		return releases.Refused("%s", obstacle)
	}
	return nil
}

// DeletionRequest specifies which release to delete, and how.
type DeletionRequest struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// SkipHooks skips the deletion hooks that are not complete.
	SkipHooks bool
	// Approved identifies the dependents with the delete policy confirm-on-delete that may be deleted.
	Approved string
	// Failed is the failed plan that the deletion reverts; nil if there is none. Objects that the release has adopted
	// stay. It is refused if another process has changed the release since.
	Failed *Plan
}

// Deletion is what will happen when a release is deleted.
type Deletion struct {
	// Release as it was found.
	Release *releases.Release
	// Hooks are the deletion hooks that are not complete; none if they are skipped.
	Hooks []deletionhooks.Hook
	// Goes are the dependents to delete, Stays those to orphan.
	Goes, Stays []*reconciler.InventoryItem
	// Blockers are foreign objects whose existence forbids the deletion.
	Blockers []reconciler.Blocker
	// Kept are the namespaces among Goes that stay unless their content is deleted first, with the reasons. Set by
	// [Deletion.FindKept].
	Kept []reconciler.Notice
	// NeededBy are the releases that depend on this one. Set by [Deletion.FindNeededBy].
	NeededBy []string
	// Held are the dependents whose deletion needs an approval that is missing; nil if there are none.
	Held *reconciler.HeldDeletions

	connection *runner.Connection
	target     *runner.Target
	reverts    bool // the revision has failed
	// leftOut lists the deletion hooks that could no longer be applied.
	leftOut []string
	// spared lists the dependents that stay because they existed before the release.
	spared []string
}

// Close stops watching the dependents.
func (d *Deletion) Close() { d.target.Close() }

// PlanDeletion plans to delete a release. The caller closes the plan. The error is a RefusedError if the deletion hooks
// cannot be read and are not skipped.
func PlanDeletion(ctx context.Context, c *runner.Connection, request DeletionRequest) (*Deletion, error) {
	release, err := c.Release(ctx, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	if err := request.Failed.ConfirmLast(release); err != nil {
		return nil, err
	}
	if release.DeletionStage.Reached(inventory.DeletionStagePostDelete) {
		// The recorded dependents are gone, and a hook may reuse the name of one.
		release.Inventory = nil
	}
	d := &Deletion{Release: release, connection: c, reverts: request.Failed != nil}
	if d.target, err = runner.NewTarget(c, releases.OwnerID(release.Namespace, release.Name), release.Inventory); err != nil {
		return nil, err
	}
	if err := d.plan(ctx, request); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Deletion) plan(ctx context.Context, request DeletionRequest) (err error) {
	release := d.Release
	if request.Failed != nil {
		d.spared = SpareAdopted(release, nil)
	}
	if !request.SkipHooks {
		if d.Hooks, err = hooksOf(ctx, d.connection, release); err != nil {
			return err
		}
	}
	for _, item := range release.Inventory {
		switch {
		case item.Phase == reconciler.PhaseCompleted:
		case isOwnNamespace(item, release.Namespace), item.DeletePolicy == reconciler.DeletePolicyOrphan, item.DeletePolicy == reconciler.DeletePolicyOrphanOnDelete:
			d.Stays = append(d.Stays, item)
		default:
			d.Goes = append(d.Goes, item)
		}
	}
	if err := d.findHeld(ctx, request); err != nil {
		return err
	}
	return d.findBlockers(ctx)
}

// findBlockers finds the foreign objects whose existence forbids the deletion. Objects of tests do not, because they
// are deleted first.
func (d *Deletion) findBlockers(ctx context.Context) (err error) {
	request := d.request()
	request.Departing = []reconciler.Owner{{ID: releases.TestOwnerID(d.Release.Namespace, d.Release.Name), Inventory: d.Release.TestInventory}}
	d.Blockers, err = d.target.Engine().CheckDeletion(ctx, request)
	return err
}

// FindKept finds the namespaces that would stay because they contain foreign objects. It sends many requests.
func (d *Deletion) FindKept(ctx context.Context) (err error) {
	d.Kept, err = d.target.Engine().CheckNamespaces(ctx, d.request())
	return err
}

// findHeld finds the dependents whose deletion needs an approval that is missing. A deletion that has begun needs none.
func (d *Deletion) findHeld(ctx context.Context, request DeletionRequest) error {
	if d.Release.State == releases.StateDeleting {
		return nil
	}
	wanted := d.request()
	if current := d.Release.Current(); current != nil {
		wanted.Occasion = strconv.FormatInt(current.Number, 10)
	}
	held, err := d.target.Engine().HeldDeletion(ctx, wanted)
	if held != nil && held.Digest != request.Approved {
		d.Held = held
	}
	return err
}

// request returns the request to delete the dependents after all checks, without the fields that only Delete needs.
func (d *Deletion) request() reconciler.DeleteRequest {
	return reconciler.DeleteRequest{Unasked: true, Owner: ownerOf(d.target, d.Release)}
}

// Blocked returns an error if the deletion is forbidden, or has to be approved.
func (d *Deletion) Blocked() error {
	if obstacle := d.obstacle(); obstacle != "" {
		return releases.Refused("release %s cannot be deleted: %s", d.Release, obstacle)
	}
	return nil
}

// obstacle returns why the deletion is forbidden or has to be approved; empty if neither is the case.
func (d *Deletion) obstacle() string {
	switch {
	case d.Held != nil && d.reverts:
		return fmt.Sprintf("%s: %s; fix the sources and apply them again, or delete the release: clm delete %s -n %s",
			d.Held, strings.Join(runner.Names(d.Held), ", "), d.Release.Name, d.Release.Namespace)
	case d.Held != nil:
		return fmt.Sprintf("%s: %s; to delete the release with them: clm delete %s -n %s --approve-deletions %s",
			d.Held, strings.Join(runner.Names(d.Held), ", "), d.Release.Name, d.Release.Namespace, d.Held.Digest)
	case len(d.NeededBy) > 0:
		return fmt.Sprintf("these releases depend on it: %s; delete them first, or ignore that: clm delete %s -n %s --ignore-needed-by",
			strings.Join(d.NeededBy, ", "), d.Release.Name, d.Release.Namespace)
	case len(d.Blockers) > 0:
		return d.blockade()
	default:
		return ""
	}
}

// blockade returns a text with one instance of each type that has foreign ones, and the command that lists all of them.
func (d *Deletion) blockade() string {
	examples, kinds, scope, filter := make([]string, len(d.Blockers)), make([]string, len(d.Blockers)), "", ""
	for i, blocker := range d.Blockers {
		kind := blocker.Type.GroupKind()
		examples[i], kinds[i] = blocker.String(), kind.String()
		if blocker.Namespace != "" || blocker.Name == "" {
			scope = " -A"
		}
		if slices.ContainsFunc(d.Release.Inventory, func(item *reconciler.InventoryItem) bool { return item.GroupVersionKind().GroupKind() == kind }) {
			// The release has instances itself, which must not be listed.
			filter = fmt.Sprintf(" -l %s/%s!=%s", releases.ReconcilerName, types.LabelKeySuffixOwnerId, manifest.OwnerLabel(d.target.Owner()))
		}
	}
	return fmt.Sprintf("there are instances of types that it defines, which would be deleted with these types, for example: %s; delete them first; to list them: kubectl get %s%s%s",
		strings.Join(examples, ", "), strings.Join(kinds, ","), scope, filter)
}

// isOwnNamespace reports whether a dependent is the namespace of its release, which contains the record. It is
// orphaned.
func isOwnNamespace(item *reconciler.InventoryItem, namespace string) bool {
	return item.Group == "" && item.Kind == "Namespace" && item.Name == namespace
}
