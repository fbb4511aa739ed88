// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// DeletionRequest says which release is to be deleted, and how.
type DeletionRequest struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// SkipHooks skips the deletion hooks that are not complete.
	SkipHooks bool
	// Approved identifies the dependents with the delete policy confirm-on-delete that may be deleted.
	Approved string
	// Failed is the plan, if any, that has failed and is reverted: objects that the release has adopted stay. If
	// another process has changed the release since, that is refused.
	Failed *Plan
}

// Deletion is what will happen when a release is deleted.
type Deletion struct {
	// Release as it was found.
	Release *releases.Release
	// Hooks are the deletion hooks that are not complete; none if they are skipped.
	Hooks []deletionhooks.Hook
	// Goes and Stays are the dependents that are deleted and orphaned.
	Goes, Stays []*reconciler.InventoryItem
	// Blockers are foreign objects whose existence forbids the deletion.
	Blockers []reconciler.Blocker
	// Kept are the namespaces among Goes that stay, with the reasons, unless what is in them goes before; only after
	// [Deletion.FindKept].
	Kept []reconciler.Notice
	// Held are the dependents whose deletion has to be approved, and is not; nil if there are none.
	Held *reconciler.HeldDeletions

	connection *runner.Connection
	target     *runner.Target
	reverts    bool // the revision has failed
	// leftOut names the deletion hooks that could no longer be applied.
	leftOut []string
	// spared names the dependents that stay because they existed before the release.
	spared []string
}

// Close stops watching the dependents.
func (d *Deletion) Close() { d.target.Close() }

// PlanDeletion plans to delete a release. The caller closes the plan. The error is a RefusedError if the deletion hooks
// cannot be read, and are not skipped.
func PlanDeletion(ctx context.Context, c *runner.Connection, request DeletionRequest) (*Deletion, error) {
	release, err := c.Release(ctx, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	if err := request.Failed.ConfirmLast(release); err != nil {
		return nil, err
	}
	if release.DeletionStage.Reached(inventory.DeletionStagePostDelete) {
		// The recorded dependents are gone, and a hook may have the name of one.
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

// findBlockers finds the foreign objects whose existence forbids the deletion. What tests have left does not: it is
// deleted first.
func (d *Deletion) findBlockers(ctx context.Context) (err error) {
	request := d.request()
	request.Departing = []reconciler.Owner{{ID: releases.TestOwnerID(d.Release.Namespace, d.Release.Name), Inventory: d.Release.TestInventory}}
	d.Blockers, err = d.target.Engine().CheckDeletion(ctx, request)
	return err
}

// FindKept finds the namespaces that contain objects of others, and would therefore stay. It takes many requests.
func (d *Deletion) FindKept(ctx context.Context) (err error) {
	d.Kept, err = d.target.Engine().CheckNamespaces(ctx, d.request())
	return err
}

// findHeld finds the dependents whose deletion has to be approved, and is not. What has begun is completed.
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

// request is the request to delete the dependents after all questions are settled, without what is needed to carry it
// out.
func (d *Deletion) request() reconciler.DeleteRequest {
	return reconciler.DeleteRequest{Unasked: true, Owner: reconciler.Owner{
		ID: d.target.Owner(), Namespace: d.Release.Namespace, Home: []string{d.Release.Namespace}, Inventory: d.Release.Inventory,
	}}
}

// Blocked returns an error if the deletion is forbidden, or has to be approved.
func (d *Deletion) Blocked() error {
	if obstacle := d.obstacle(); obstacle != "" {
		return releases.Refused("release %s cannot be deleted: %s", d.Release, obstacle)
	}
	return nil
}

// obstacle says why the deletion is forbidden, or has to be approved; empty if it is neither.
func (d *Deletion) obstacle() string {
	switch {
	case d.Held != nil && d.reverts:
		return fmt.Sprintf("%s: %s; fix the sources and apply them again, or delete the release: clm delete %s -n %s",
			d.Held, strings.Join(runner.Names(d.Held), ", "), d.Release.Name, d.Release.Namespace)
	case d.Held != nil:
		return fmt.Sprintf("%s: %s; to delete the release with them: clm delete %s -n %s --approve-deletions %s",
			d.Held, strings.Join(runner.Names(d.Held), ", "), d.Release.Name, d.Release.Namespace, d.Held.Digest)
	case len(d.Blockers) > 0:
		return d.blockade()
	default:
		return ""
	}
}

// blockade names an instance of each type that has foreign ones, and says how to list all of them.
func (d *Deletion) blockade() string {
	examples, kinds, scope, filter := make([]string, len(d.Blockers)), make([]string, len(d.Blockers)), "", ""
	for i, blocker := range d.Blockers {
		kind := blocker.Type.GroupKind()
		examples[i], kinds[i] = blocker.String(), kind.String()
		if blocker.Namespace != "" || blocker.Name == "" {
			scope = " -A"
		}
		if slices.ContainsFunc(d.Release.Inventory, func(item *reconciler.InventoryItem) bool { return item.GroupVersionKind().GroupKind() == kind }) {
			// The release has instances itself. They are not to be listed.
			filter = fmt.Sprintf(" -l %s/%s!=%s", releases.ReconcilerName, types.LabelKeySuffixOwnerId, manifest.OwnerLabel(d.target.Owner()))
		}
	}
	return fmt.Sprintf("there are instances of types that it defines, which would be deleted with these types, for example: %s; delete them first; to list them: kubectl get %s%s%s",
		strings.Join(examples, ", "), strings.Join(kinds, ","), scope, filter)
}

// isOwnNamespace reports whether a dependent is the namespace that has the record of its release. It is orphaned.
func isOwnNamespace(item *reconciler.InventoryItem, namespace string) bool {
	return item.Group == "" && item.Kind == "Namespace" && item.Name == namespace
}
