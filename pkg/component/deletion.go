// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/pkg/component/internal/hooks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// deletion has the steps of a component that is being deleted.
type deletion struct{ pass *pass }

// noteOrphaning finds out whether dependents are to be orphaned, and records it. A component that is deleted with the propagation policy Orphan has
// the finalizer orphan only for a moment: the garbage collector removes it once it has seen that no object has the component as owner. So the event
// that shows the finalizer is remembered, and an annotation of the component records it before any dependent is orphaned.
func (d deletion) noteOrphaning(ctx context.Context) outcomes.Outcome {
	if !d.pass.deleting {
		return outcomes.Proceed
	}
	recorded := d.pass.annotated(types.AnnotationKeySuffixOrphanDependents)
	d.pass.orphaning = recorded || isOrphaned(d.pass.component) || d.pass.worker.memories.isOrphaned(d.pass.key, d.pass.component.GetUID())
	if !d.pass.orphaning || recorded {
		return outcomes.Proceed
	}
	if err := d.pass.handle.Annotate(ctx, d.pass.worker.name+"/"+types.AnnotationKeySuffixOrphanDependents, "true"); err != nil {
		return outcomes.Of(fmt.Errorf("recording that dependents will be orphaned: %w", err))
	}
	return outcomes.Proceed
}

// dependentsGone reports whether the record says that no dependent is left. Items in the inventory, which does not shrink during a deletion, are not
// looked at again: a post-delete hook may have the name of a former dependent.
func (d deletion) dependentsGone() bool {
	return d.pass.deletionHooks.Reached(inventory.DeletionStagePostDelete)
}

// rebuild completes the inventory.
func (d deletion) rebuild(ctx context.Context) outcomes.Outcome {
	if d.pass.destination.Target() == nil || d.dependentsGone() {
		return outcomes.Proceed
	}
	return d.pass.destination.Unreachable(ctx, d.pass.rebuild(ctx, nil))
}

func (d deletion) before(ctx context.Context) outcomes.Outcome {
	if d.pass.orphaning {
		return outcomes.Proceed
	}
	return d.pass.runHooks(d.pass.hookContext(ctx), "pre-delete", d.pass.worker.hooks.preDelete)
}

// checkApproved blocks the deletion while there are dependents whose deletion has to be approved. Nothing has been done about the deletion until then. It decides once:
// hooks may have the names of dependents.
func (d deletion) checkApproved(ctx context.Context) outcomes.Outcome {
	target, owner := d.pass.destination.Target(), d.pass.departing()
	isConcerned := slices.ContainsFunc(owner.Inventory, func(item *reconciler.InventoryItem) bool {
		return item.DeletePolicy == reconciler.DeletePolicyConfirmOnDelete
	})
	if target == nil || !isConcerned || d.isApproved() || d.dependentsGone() {
		return outcomes.Proceed
	}
	approval := d.approval()
	held, err := target.Engine.HeldDeletion(ctx, approval.request(owner))
	switch {
	case err != nil:
		return d.pass.destination.Unreachable(ctx, err)
	case held != nil && held.Digest != approval.digest:
		return d.pass.destination.Held(ctx, held, outcomes.Outcome{Kind: outcomes.Blocked, Message: "deletion blocked: " + approval.message(held)})
	}
	if d.pass.record.Gap() != "" {
		// There may be further dependents, which nobody could approve yet.
		return outcomes.Proceed
	}
	if err := d.pass.handle.Annotate(ctx, d.pass.worker.name+"/"+types.AnnotationKeySuffixDeletionApproved, d.occasion()); err != nil {
		return outcomes.Of(fmt.Errorf("recording that the deletion is approved: %w", err))
	}
	return outcomes.Proceed
}

// occasion identifies this deletion.
func (d deletion) occasion() string {
	return string(d.pass.component.GetUID()) + "/" + d.pass.component.GetDeletionTimestamp().UTC().Format(time.RFC3339)
}

// approval is what a user has approved of this deletion.
func (d deletion) approval() approval { return approvalOf(d.pass, d.occasion()) }

// isApproved reports whether it is recorded that this deletion is approved.
func (d deletion) isApproved() bool {
	return d.pass.component.GetAnnotations()[d.pass.worker.name+"/"+types.AnnotationKeySuffixDeletionApproved] == d.occasion()
}

// checkAllowed blocks the deletion while there are foreign instances of managed types.
func (d deletion) checkAllowed(ctx context.Context) outcomes.Outcome {
	target := d.pass.destination.Target()
	if target == nil {
		return outcomes.Proceed
	}
	blockers, err := target.Engine.CheckDeletion(ctx, reconciler.DeleteRequest{Owner: d.pass.departing()})
	if err != nil {
		return d.pass.destination.Unreachable(ctx, err)
	}
	if len(blockers) == 0 {
		return outcomes.Proceed
	}
	return outcomes.Outcome{Kind: outcomes.Blocked, Message: blockerMessage(blockers)}
}

func blockerMessage(blockers []reconciler.Blocker) string {
	names := make([]string, len(blockers))
	for i, blocker := range blockers {
		names[i] = blocker.String()
	}
	slices.Sort(names)
	return "deletion blocked by foreign instances of managed types, such as: " + texts.Join(names, ", ")
}

// checkForeignFinalizers blocks the deletion while other controllers have finalizers on the component. The garbage collector's own finalizers do not
// count: they wait for us.
func (d deletion) checkForeignFinalizers(context.Context) outcomes.Outcome {
	foreign := slices.DeleteFunc(slices.Sorted(slices.Values(d.pass.component.GetFinalizers())), func(finalizer string) bool {
		return d.pass.worker.options.finalizers().Owns(finalizer) || finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
	})
	if len(foreign) == 0 {
		return outcomes.Proceed
	}
	return outcomes.Outcome{Kind: outcomes.Blocked, Message: "deletion blocked by finalizers: " + strings.Join(foreign, ", ")}
}

// runPreDeleteHooks applies the pre-delete hooks, waits until all are ready, and removes them.
func (d deletion) runPreDeleteHooks(ctx context.Context) outcomes.Outcome {
	if d.pass.status.DeletionHooks == nil && d.pass.record.IsLost() && d.pass.destination.Target() != nil && len(d.pass.status.Inventory) > 0 {
		progress, err := d.pass.deletionHooks.CheckLost(ctx)
		return hookOutcome(progress, err)
	}
	return d.runDeletionHooks(ctx, deletionhooks.PreDelete)
}

// runPostDeleteHooks does the same for post-delete hooks.
func (d deletion) runPostDeleteHooks(ctx context.Context) outcomes.Outcome {
	return d.runDeletionHooks(ctx, deletionhooks.PostDelete)
}

func (d deletion) runDeletionHooks(ctx context.Context, at deletionhooks.Time) outcomes.Outcome {
	target := d.pass.destination.Target()
	if target == nil {
		return outcomes.Proceed
	}
	wanted, progress, err := d.pass.deletionHooks.Wanted(ctx, at)
	if o := hookOutcome(progress, err); o.Kind != outcomes.Continue {
		return o
	}
	progress, err = d.pass.deletionHooks.Step(ctx, at, wanted, hooks.Run{
		Engine: target.Engine, Owner: d.pass.owner(), Policies: d.pass.settings.policies,
		Took: func(result reconciler.Result) { d.pass.announce(&result, nil) },
	})
	if err != nil {
		return d.pass.destination.Unreachable(ctx, err)
	}
	return hookOutcome(progress, nil)
}

// hookOutcome returns the outcome for the progress of deletion hooks.
func hookOutcome(progress hooks.Progress, err error) outcomes.Outcome {
	if err != nil {
		return outcomes.Of(err)
	}
	switch progress.State {
	case hooks.Lost:
		return outcomes.Retry(progress.Message, outcomes.MissingDelay)
	case hooks.Failed:
		return outcomes.Outcome{Kind: outcomes.Failed, Message: progress.Message, Wake: progress.Wake}
	case hooks.Going:
		return outcomes.Outcome{Kind: outcomes.Deleting, Message: progress.Message, Wake: progress.Wake}
	case hooks.Done:
	}
	return outcomes.Proceed
}

func (d deletion) deleteDependents(ctx context.Context) outcomes.Outcome {
	target := d.pass.destination.Target()
	if target == nil || d.dependentsGone() {
		return outcomes.Proceed
	}
	request := d.approval().request(d.pass.departing())
	request.Unasked = d.isApproved()
	result, err := target.Engine.Delete(ctx, request)
	d.pass.took(&result)
	if d.pass.orphaning {
		d.pass.worker.announcer.released(d.pass.subject, d.pass.log, &result)
	}
	switch {
	case err != nil:
		return d.pass.destination.Unreachable(ctx, err)
	case result.Held != nil:
		return d.pass.destination.Held(ctx, result.Held, outcomes.Outcome{Kind: outcomes.Blocked, Message: "deletion blocked: " + d.approval().message(result.Held)})
	case !result.Done:
		return outcomes.Outcome{Kind: outcomes.Deleting, Message: d.pass.worker.waves(d.pass.component).Waits(result, "deleted"), Wake: result.RequeueAfter}
	}
	return outcomes.Proceed
}

// checkUnlisted blocks the deletion while there may be unrecorded dependents.
func (d deletion) checkUnlisted(context.Context) outcomes.Outcome {
	return d.pass.destination.CheckUnlisted()
}

// after runs the hooks that require all dependents to be gone.
func (d deletion) after(ctx context.Context) outcomes.Outcome {
	if d.pass.destination.Abandoned() || d.pass.orphaning {
		return outcomes.Proceed
	}
	return d.pass.runHooks(d.pass.hookContext(ctx), "post-delete", d.pass.worker.hooks.postDelete)
}

func (d deletion) removeHooks(ctx context.Context) outcomes.Outcome {
	complete, err := d.pass.deletionHooks.Remove(ctx)
	return removed(complete, err, "Secrets with deletion hooks")
}

func (d deletion) removeRecord(ctx context.Context) outcomes.Outcome {
	complete, err := d.pass.record.Remove(ctx)
	return removed(complete, err, "chunks of the inventory")
}

// removed returns the outcome of removing objects beside the component.
func removed(complete bool, err error, what string) outcomes.Outcome {
	if err == nil && !complete {
		return outcomes.Retry(what+" have finalizers of other controllers, or are being modified", outcomes.FirstBackoff)
	}
	return outcomes.Of(err)
}

func (d deletion) removeFinalizer(ctx context.Context) outcomes.Outcome {
	err := d.pass.handle.ChangeFinalizers(ctx, d.pass.worker.options.finalizers().Without)
	if err != nil {
		return outcomes.Of(err)
	}
	d.pass.memory.finished = true
	d.pass.memory.generation.Forget()
	return outcomes.Outcome{Kind: outcomes.Gone}
}

// approval is what a user has approved by an annotation of the component.
type approval struct {
	annotation string
	digest     string // of the deletions that are approved; empty if there are none
	occasion   string // for which dependents are deleted; empty for redundant ones
}

func approvalOf(p *pass, occasion string) approval {
	annotation := p.worker.name + "/" + types.AnnotationKeySuffixApproveDeletions
	return approval{annotation: annotation, digest: p.component.GetAnnotations()[annotation], occasion: occasion}
}

// request returns the request to delete the dependents of the owner.
func (a approval) request(owner reconciler.Owner) reconciler.DeleteRequest {
	return reconciler.DeleteRequest{Owner: owner, Approved: a.digest, Occasion: a.occasion}
}

// message names the dependents that stay, and the annotation that lets them go.
func (a approval) message(held *reconciler.HeldDeletions) string {
	names := make([]string, len(held.Objects))
	for i, object := range held.Objects {
		names[i] = texts.Name(object)
	}
	return fmt.Sprintf("%s; to approve, set the annotation %s: %q; would be deleted: %s", held, a.annotation, held.Digest, texts.Join(names, ", "))
}
