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
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// noteOrphaning determines whether dependents must be orphaned, and records it. A component that is deleted with the
// propagation policy Orphan has the finalizer orphan only for a moment: the garbage collector removes it once it has
// seen that no object has the component as owner. So the event that shows the finalizer is remembered, and an
// annotation of the component records it before any dependent is orphaned.
func (p *pass) noteOrphaning(ctx context.Context) outcomes.Outcome {
	if !p.deleting {
		return outcomes.Proceed
	}
	recorded := p.handle.IsAnnotated(types.AnnotationKeySuffixOrphanDependents)
	p.orphaning = recorded || isOrphaned(p.component) || p.worker.memories.isOrphaned(p.key, p.component.GetUID())
	if !p.orphaning || recorded {
		return outcomes.Proceed
	}
	if err := p.handle.Annotate(ctx, types.AnnotationKeySuffixOrphanDependents, "true"); err != nil {
		return outcomes.Of(fmt.Errorf("recording that dependents will be orphaned: %w", err))
	}
	return outcomes.Proceed
}

// dependentsGone reports whether the record shows that no dependent is left. The items of the inventory, which does not
// shrink during a deletion, are not checked again: a post-delete hook may have the name of a former dependent.
func (p *pass) dependentsGone() bool {
	return p.deletionHooks.Reached(inventory.DeletionStagePostDelete)
}

// findUnrecorded completes the inventory.
func (p *pass) findUnrecorded(ctx context.Context) outcomes.Outcome {
	if p.destination.Target() == nil || p.dependentsGone() {
		return outcomes.Proceed
	}
	return p.destination.Unreachable(ctx, p.rebuild(ctx, nil))
}

func (p *pass) beforeDelete(ctx context.Context) outcomes.Outcome {
	if p.orphaning {
		return outcomes.Proceed
	}
	return p.runHooks(p.hookContext(ctx), "pre-delete", p.worker.hooks.preDelete)
}

// checkApproved blocks the deletion while a user has to approve the deletion of dependents. Until then, no hook runs
// and nothing is deleted. It decides once: hooks may have the names of dependents.
func (p *pass) checkApproved(ctx context.Context) outcomes.Outcome {
	target, owner := p.destination.Target(), p.departing()
	isConcerned := slices.ContainsFunc(owner.Inventory, func(item *reconciler.InventoryItem) bool {
		return item.DeletePolicy == reconciler.DeletePolicyConfirmOnDelete
	})
	if target == nil || !isConcerned || p.isApproved() || p.dependentsGone() {
		return outcomes.Proceed
	}
	approval := p.approval()
	held, err := target.Engine.HeldDeletion(ctx, approval.request(owner))
	switch {
	case err != nil:
		return p.destination.Unreachable(ctx, err)
	case held != nil && held.Digest != approval.digest:
		return p.awaitApproval(ctx, held, approval)
	}
	if p.record.Gap() != "" {
		// There may be further dependents, which could not be approved yet.
		return outcomes.Proceed
	}
	if err := p.handle.Annotate(ctx, types.AnnotationKeySuffixDeletionApproved, p.occasion()); err != nil {
		return outcomes.Of(fmt.Errorf("recording that the deletion is approved: %w", err))
	}
	return outcomes.Proceed
}

// occasion identifies this deletion.
func (p *pass) occasion() string {
	return string(p.component.GetUID()) + "/" + p.component.GetDeletionTimestamp().UTC().Format(time.RFC3339)
}

// approval returns the user's approval of this deletion.
func (p *pass) approval() approval { return approvalOf(p, p.occasion()) }

// isApproved reports whether an approval of this deletion is recorded.
func (p *pass) isApproved() bool {
	return p.handle.Annotation(types.AnnotationKeySuffixDeletionApproved) == p.occasion()
}

// checkAllowed blocks the deletion while there are foreign instances of managed types.
func (p *pass) checkAllowed(ctx context.Context) outcomes.Outcome {
	if p.destination.Target() == nil {
		return outcomes.Proceed
	}
	return p.checkInstances(ctx, p.departing())
}

// checkInstances blocks the deletion of the dependents of the owner while there are foreign instances of managed types.
func (p *pass) checkInstances(ctx context.Context, owner reconciler.Owner) outcomes.Outcome {
	blockers, err := p.destination.Target().Engine.CheckDeletion(ctx, reconciler.DeleteRequest{Owner: owner})
	if err != nil {
		return p.destination.Unreachable(ctx, err)
	}
	if len(blockers) == 0 {
		return outcomes.Proceed
	}
	names := make([]string, len(blockers))
	for i, blocker := range blockers {
		names[i] = blocker.String()
	}
	slices.Sort(names)
	message := "deletion blocked: others have created objects of types that this component defines or manages, such as: " + outcomes.Join(names, ", ") + "; delete them first"
	return outcomes.Outcome{Kind: outcomes.Blocked, Message: message}
}

// checkForeignFinalizers blocks the deletion while other controllers have finalizers on the component. The garbage
// collector's own finalizers do not count: they wait for us.
func (p *pass) checkForeignFinalizers(context.Context) outcomes.Outcome {
	foreign := slices.DeleteFunc(slices.Sorted(slices.Values(p.component.GetFinalizers())), func(finalizer string) bool {
		return p.worker.options.finalizers().Owns(finalizer) || finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
	})
	if len(foreign) == 0 {
		return outcomes.Proceed
	}
	return outcomes.Outcome{Kind: outcomes.Blocked, Message: "deletion blocked by finalizers: " + strings.Join(foreign, ", ")}
}

// runPreDeleteHooks applies the pre-delete hooks, waits until all are ready, and removes them.
func (p *pass) runPreDeleteHooks(ctx context.Context) outcomes.Outcome {
	if p.status.DeletionHooks == nil && p.record.IsLost() && p.destination.Target() != nil && len(p.status.Inventory) > 0 {
		return p.deletionHooks.CheckLost(ctx)
	}
	return p.runDeletionHooks(ctx, deletionhooks.PreDelete)
}

// runPostDeleteHooks does the same for post-delete hooks.
func (p *pass) runPostDeleteHooks(ctx context.Context) outcomes.Outcome {
	return p.runDeletionHooks(ctx, deletionhooks.PostDelete)
}

func (p *pass) runDeletionHooks(ctx context.Context, at deletionhooks.Time) outcomes.Outcome {
	target := p.destination.Target()
	if target == nil {
		return outcomes.Proceed
	}
	o, err := p.deletionHooks.Step(ctx, at, deletionhooks.Runner{
		Engine: target.Engine, Owner: p.owner(), Policies: p.settings.policies,
		Took: func(_ deletionhooks.Doing, result reconciler.Result) { p.announce(&result, nil) },
	})
	if err != nil {
		return p.destination.Unreachable(ctx, err)
	}
	return o
}

func (p *pass) deleteDependents(ctx context.Context) outcomes.Outcome {
	if p.destination.Target() == nil || p.dependentsGone() {
		return outcomes.Proceed
	}
	approval := p.approval()
	request := approval.request(p.departing())
	request.Unasked = p.isApproved()
	return p.remove(ctx, request, approval)
}

// remove deletes dependents, as far as a user has approved it.
func (p *pass) remove(ctx context.Context, request reconciler.DeleteRequest, approval approval) outcomes.Outcome {
	result, err := p.destination.Target().Engine.Delete(ctx, request)
	p.took(&result)
	if p.orphaning {
		p.announceReleased(&result)
	}
	switch {
	case err != nil:
		return p.destination.Unreachable(ctx, err)
	case result.Held != nil:
		return p.awaitApproval(ctx, result.Held, approval)
	case !result.Done:
		return outcomes.Outcome{Kind: outcomes.Deleting, Message: p.worker.waves(p.component).Waits(result, "deleted"), Wake: result.RequeueAfter}
	}
	return outcomes.Proceed
}

// awaitApproval is the outcome while a user has to approve deletions.
func (p *pass) awaitApproval(ctx context.Context, held *reconciler.HeldDeletions, approval approval) outcomes.Outcome {
	o := outcomes.Outcome{Kind: outcomes.Blocked, Message: approval.message(held)}
	if p.deleting {
		o.Message = "deletion blocked: " + o.Message
	}
	return p.destination.Held(ctx, held, o)
}

// afterDelete runs the hooks that require all dependents to be gone.
func (p *pass) afterDelete(ctx context.Context) outcomes.Outcome {
	if p.destination.Abandoned() || p.orphaning {
		return outcomes.Proceed
	}
	return p.runHooks(p.hookContext(ctx), "post-delete", p.worker.hooks.postDelete)
}

// removal returns the step that removes objects beside the component.
func (p *pass) removal(what string, remove func(context.Context) (complete bool, err error)) step {
	return func(ctx context.Context) outcomes.Outcome {
		complete, err := remove(ctx)
		switch {
		case err != nil:
			return outcomes.Of(fmt.Errorf("removing %s: %w", what, err))
		case !complete:
			return outcomes.Retry("waiting for the deletion of "+what+": other controllers have finalizers on them, or are changing them", outcomes.FirstBackoff)
		}
		return outcomes.Proceed
	}
}

// noteKept finds out, before the first dependent is deleted, whether some stay that may have generated secrets.
func (p *pass) noteKept(context.Context) outcomes.Outcome {
	stays := slices.ContainsFunc(p.status.Inventory, func(item *reconciler.InventoryItem) bool {
		return item.DeletePolicy == reconciler.DeletePolicyOrphan || item.DeletePolicy == reconciler.DeletePolicyOrphanOnDelete
	})
	if stays || p.orphaning || p.destination.Abandoned() {
		p.seed.NoteKept()
	}
	return outcomes.Proceed
}

// removeSeed deletes the seed of generated secrets, unless dependents stay.
func (p *pass) removeSeed(ctx context.Context) (complete bool, err error) {
	return p.seed.Remove(ctx, p.worker.options.GeneratedSecrets, p.orphaning || p.destination.Abandoned())
}

func (p *pass) removeFinalizer(ctx context.Context) outcomes.Outcome {
	err := p.handle.ChangeFinalizers(ctx, p.worker.options.finalizers().Without)
	if err != nil {
		return outcomes.Of(err)
	}
	p.memory.finished = true
	p.memory.generation.Forget()
	return outcomes.Outcome{Kind: outcomes.Gone}
}

// approval is a user's approval in an annotation of the component.
type approval struct {
	annotation string
	digest     string // of the deletions that are approved; empty if there are none
	occasion   string // for which dependents are deleted; empty for redundant ones
}

func approvalOf(p *pass, occasion string) approval {
	const suffix = types.AnnotationKeySuffixApproveDeletions
	return approval{annotation: p.handle.AnnotationKey(suffix), digest: p.handle.Annotation(suffix), occasion: occasion}
}

// request returns the request to delete the dependents of the owner.
func (a approval) request(owner reconciler.Owner) reconciler.DeleteRequest {
	return reconciler.DeleteRequest{Owner: owner, Approved: a.digest, Occasion: a.occasion}
}

// message names the held dependents, and the annotation that approves their deletion.
func (a approval) message(held *reconciler.HeldDeletions) string {
	names := make([]string, len(held.Objects))
	for i, object := range held.Objects {
		names[i] = outcomes.Name(object)
	}
	return fmt.Sprintf("%s; to approve, set the annotation %s: %q; would be deleted: %s", held, a.annotation, held.Digest, outcomes.Join(names, ", "))
}
