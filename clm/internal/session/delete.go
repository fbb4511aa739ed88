// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/component-operator/runtime/clm/internal/progress"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// DeletionRequest says which release is to be deleted, and how.
type DeletionRequest struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// SkipHooks leaves out the deletion hooks, as far as they are not over.
	SkipHooks bool
	// Failed is the plan, if any, that has failed and is undone: what the release has adopted stays. If somebody has changed the release since, that is
	// refused.
	Failed *Plan
}

// Deletion is what is going to happen when a release is deleted.
type Deletion struct {
	// Release as it was found.
	Release *releases.Release
	// Hooks are the deletion hooks that are not over yet. There are none if they are to be left out.
	Hooks []deletionhooks.Hook
	// Goes and Stays are the dependents that are deleted and released.
	Goes, Stays []*reconciler.InventoryItem
	// Blockers are foreign objects whose existence forbids the deletion.
	Blockers []reconciler.Blocker

	target *target
	// leftOut are the deletion hooks that could not be applied any more, as texts.
	leftOut []string
	// spared are the dependents that stay because they were there before, as texts.
	spared []string
}

// Close ends what was begun to find out how things stand.
func (d *Deletion) Close() { d.target.close() }

// PlanDeletion finds out what would happen if a release were deleted. The plan is to be closed. The error is a RefusedError if the deletion hooks
// cannot be read, and are not to be left out.
func (s *Session) PlanDeletion(ctx context.Context, request DeletionRequest) (*Deletion, error) {
	release, err := s.Release(ctx, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	if err := request.Failed.confirmLast(release); err != nil {
		return nil, err
	}
	if stageOf(release).Reached(deletionhooks.StagePostDelete) {
		// What is still recorded is gone, and a hook may have its name.
		release.Inventory = nil
	}
	d := &Deletion{Release: release}
	if d.target, err = s.target(releases.OwnerID(release.Namespace, release.Name), release.Inventory); err != nil {
		return nil, err
	}
	if err := s.planDeletion(ctx, d, request); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (s *Session) planDeletion(ctx context.Context, d *Deletion, request DeletionRequest) (err error) {
	release := d.Release
	if request.Failed != nil {
		older, err := s.spareOlder(ctx, release)
		if err != nil {
			return err
		}
		d.spared = slices.Sorted(slices.Values(slices.Concat(spareAdopted(release, nil), older)))
	}
	if !request.SkipHooks {
		if d.Hooks, err = s.deletionHooks(ctx, release); err != nil {
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
	d.Blockers, err = d.target.engine.CheckDeletion(ctx, reconciler.DeleteRequest{Owner: reconciler.Owner{ID: d.target.owner, Inventory: release.Inventory}})
	if err != nil {
		return err
	}
	// What tests have left goes first.
	d.Blockers = slices.DeleteFunc(d.Blockers, func(blocker reconciler.Blocker) bool {
		return slices.ContainsFunc(release.TestInventory, func(item *reconciler.InventoryItem) bool {
			return item.GroupVersionKind().GroupKind() == blocker.Type.GroupKind() && item.Namespace == blocker.Namespace && item.Name == blocker.Name
		})
	})
	return nil
}

// Blocked returns an error if the deletion is forbidden.
func (d *Deletion) Blocked() error {
	if len(d.Blockers) == 0 {
		return nil
	}
	texts := make([]string, len(d.Blockers))
	for i, blocker := range d.Blockers {
		texts[i] = blocker.String()
	}
	return refused("release %s is not deleted, because there are instances of types that exist only because of it, and they would go with it: %s; delete them first",
		d.Release, strings.Join(texts, ", "))
}

// beingDeleted refuses to do anything else with a release whose deletion has begun.
func beingDeleted(release *releases.Release) error {
	return refused("release %s is being deleted; to go on with that: clm delete %s -n %s", release, release.Name, release.Namespace)
}

// Delete deletes a release and its dependents. Errors are those of Apply.
func (s *Session) Delete(ctx context.Context, d *Deletion, limits Limits) error {
	b := newBoard(s, "delete", d.Release.String())
	err := s.delete(ctx, d, limits, b)
	outcome := progress.Outcome{Done: err == nil, Summary: fmt.Sprintf("release %s is deleted", d.Release), Next: sparedText(d.spared)}
	if len(d.leftOut) > 0 {
		outcome.Next = "These hooks could not be applied any more, because their namespaces are being deleted: " + strings.Join(d.leftOut, ", ")
	}
	if err != nil {
		outcome.Summary, outcome.Next = fmt.Sprintf("release %s is not deleted: %s", d.Release, summaryOf(err)), nextAfter(err)
	}
	b.finish(outcome, err)
	return err
}

func (s *Session) delete(ctx context.Context, d *Deletion, limits Limits, b *board) error {
	if err := d.Blocked(); err != nil {
		return err
	}
	o, done, err := s.begin(ctx, d.Release, b, limits)
	if err != nil {
		return err
	}
	defer done()
	if o.release.State == releases.StateDeleting || o.release.Ancestor {
		// Otherwise there is a write, which fails if the record has changed since it was read.
		if err := o.confirmUnchanged(ctx); err != nil {
			return err
		}
	}
	ctx, stop := o.watchLock(ctx)
	defer stop()
	o.release.State, o.release.Message = releases.StateDeleting, ""
	if err := o.records.Save(ctx, o.release); err != nil {
		return o.unlessChanged(err)
	}
	ctx, stopTimer := limited(ctx, limits.Timeout)
	defer stopTimer()
	if err := o.deleteAll(ctx, d, limits); err != nil {
		return errors.Join(err, o.record(ctx, func(release *releases.Release) { release.Message = err.Error() }))
	}
	err = o.records.Remove(ctx, o.release)
	if errors.Is(err, releases.ErrOutdated) && o.recordGone(ctx) {
		// It went with its namespace.
		return nil
	}
	return err
}

// recordGone reports whether it is certain that the release is not recorded any more.
func (o *operation) recordGone(ctx context.Context) bool {
	_, err := o.records.Get(ctx, o.release.Namespace, o.release.Name)
	return errors.Is(err, releases.ErrNotFound)
}

// deleteAll deletes all that there is of a release, from where an earlier deletion has stopped.
func (o *operation) deleteAll(ctx context.Context, d *Deletion, limits Limits) error {
	if len(o.release.TestInventory) > 0 {
		if err := o.deleteTests(ctx, d, limits); err != nil {
			return err
		}
	}
	if err := o.runDeletionHooks(ctx, d, limits, deletionhooks.PreDelete); err != nil {
		return err
	}
	if !stageOf(o.release).Reached(deletionhooks.StagePostDelete) {
		if err := o.deleteDependents(ctx, d, limits); err != nil {
			return err
		}
	}
	return o.runDeletionHooks(ctx, d, limits, deletionhooks.PostDelete)
}

// deleteDependents calls the engine until nothing is left.
func (o *operation) deleteDependents(ctx context.Context, d *Deletion, limits Limits) error {
	d.target.seen = o.board.seen
	fence := o.fence(ctx)
	c := &convergence{
		target:  d.target,
		timeout: limits.Timeout,
		call: func(ctx context.Context) (reconciler.Result, error) {
			result, err := d.target.engine.Delete(ctx, reconciler.DeleteRequest{Owner: reconciler.Owner{
				ID: d.target.owner, Namespace: o.release.Namespace, Home: []string{o.release.Namespace}, Inventory: o.release.Inventory, Store: o, Fence: fence,
			}})
			o.release.Inventory = result.Inventory
			return result, err
		},
		took: func(result reconciler.Result, err error) {
			o.board.took(result, err, fmt.Sprintf("waiting until wave %d is gone", result.Wave))
		},
	}
	o.board.expect(o.release.Inventory, func(item *reconciler.InventoryItem) int { return item.DeleteOrder })
	o.board.say("deleting")
	result, err := c.run(ctx)
	o.board.took(result, nil, "")
	if err != nil {
		return errors.Join(err, o.liftBarriers(ctx, d.target))
	}
	// What is left of it in the record, because that stays as it is during a deletion, counts no longer.
	o.release.Inventory = nil
	return nil
}

// isOwnNamespace reports whether a dependent is the namespace in which the record of its release is. It is released with the release.
func isOwnNamespace(item *reconciler.InventoryItem, namespace string) bool {
	return item.Group == "" && item.Kind == "Namespace" && item.Name == namespace
}
