// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/items"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/siblings"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// application has the steps of a component that is not being deleted.
type application struct{ pass *pass }

// checkPresence refuses an unknown presence. The definition of a component refuses it as well, unless its presence is computed.
func (a application) checkPresence(context.Context) outcomes.Outcome {
	switch a.pass.settings.presence {
	case PresenceActive, PresenceSuspended, PresencePaused, PresenceArchived:
		return outcomes.Proceed
	default:
		return outcomes.Of(inventory.NewRefusedError(fmt.Sprintf("spec.presence: invalid value %q; must be one of: %s, %s, %s, %s",
			a.pass.settings.presence, PresenceActive, PresenceSuspended, PresencePaused, PresenceArchived)))
	}
}

// observe ends the pass if the component is paused. It plans what apply would do, and does nothing of it.
func (a application) observe(ctx context.Context) outcomes.Outcome {
	if a.pass.settings.presence != PresencePaused {
		return outcomes.Proceed
	}
	if a.pass.destination.Moving() {
		return outcomes.Outcome{Kind: outcomes.Paused, Message: "paused: held back: " + a.pass.destination.Move()}
	}
	judge, generated, err := a.want(ctx)
	if o := wanted(err); o.Kind == outcomes.Progressing {
		return outcomes.Outcome{Kind: outcomes.Paused, Message: "paused: " + o.Message}
	} else if o.Kind != outcomes.Continue {
		return o
	}
	plan, err := a.planRequest(ctx, a.request(generated, judge))
	if err != nil {
		return outcomes.Of(err)
	}
	a.pass.plan = &plan
	return outcomes.Outcome{Kind: outcomes.Paused, Message: "paused: " + texts.HeldBack(plan)}
}

func (a application) mayHaveDependents() bool {
	return len(a.pass.status.Inventory) > 0 || a.pass.record.IsLost()
}

// archive ends the pass if the component is archived. It deletes the dependents, and does not run deletion hooks, because the component stays.
func (a application) archive(ctx context.Context) outcomes.Outcome {
	if a.pass.settings.presence != PresenceArchived {
		return outcomes.Proceed
	}
	if a.mayHaveDependents() {
		if o := a.deleteAll(ctx); o.Kind != outcomes.Continue {
			o.Message = "archiving: " + o.Message
			return o
		}
	}
	return outcomes.Outcome{Kind: outcomes.Archived, Message: "archived: there are no dependents"}
}

// leaveFormer deletes dependents in their former cluster, and connects to the new one. It does not run deletion hooks, because the component stays.
func (a application) leaveFormer(ctx context.Context) outcomes.Outcome {
	if !a.pass.destination.Moving() {
		return outcomes.Proceed
	}
	move := a.pass.destination.Move()
	if o := a.deleteAll(ctx); o.Kind != outcomes.Continue {
		o.Message = move + ": " + o.Message
		return o
	}
	a.pass.result = nil
	// Events about dependents go through the connection to the former cluster.
	a.pass.later.emit()
	return a.pass.destination.Arrive()
}

// deleteAll deletes the dependents of a component that stays.
func (a application) deleteAll(ctx context.Context) outcomes.Outcome {
	if o := a.pass.destination.Unreachable(ctx, a.pass.rebuild(ctx, nil)); o.Kind != outcomes.Continue || a.pass.destination.Abandoned() {
		return o
	}
	engine := a.pass.destination.Target().Engine
	blockers, err := engine.CheckDeletion(ctx, reconciler.DeleteRequest{Owner: a.pass.owner()})
	if err != nil {
		return a.pass.destination.Unreachable(ctx, err)
	}
	if len(blockers) > 0 {
		return outcomes.Outcome{Kind: outcomes.Progressing, Message: blockerMessage(blockers)}
	}
	approval := approvalOf(a.pass, a.pass.declared.Digest.Value)
	result, err := engine.Delete(ctx, approval.request(a.pass.owner()))
	a.pass.took(&result)
	switch {
	case err != nil:
		return a.pass.destination.Unreachable(ctx, err)
	case result.Held != nil:
		return a.pass.destination.Held(ctx, result.Held, outcomes.Outcome{Kind: outcomes.Progressing, Message: approval.message(result.Held)})
	case !result.Done:
		return outcomes.Outcome{Kind: outcomes.Progressing, Message: a.pass.worker.waves(a.pass.component).Waits(result, "deleted"), Wake: result.RequeueAfter}
	}
	return outcomes.Proceed
}

func (a application) ensureFinalizer(ctx context.Context) outcomes.Outcome {
	return outcomes.Of(a.pass.handle.ChangeFinalizers(ctx, a.pass.worker.options.finalizers().With))
}

func (a application) beforeReconcile(ctx context.Context) outcomes.Outcome {
	return a.pass.runHooks(a.pass.hookContext(ctx), "pre-reconcile", a.pass.worker.hooks.preReconcile)
}

// apply generates the dependents and calls the engine.
func (a application) apply(ctx context.Context) outcomes.Outcome {
	judge, generated, err := a.want(ctx)
	if err != nil {
		return wanted(err)
	}
	if err := a.pass.rebuild(ctx, generated.Objects); err != nil {
		return outcomes.Of(err)
	}
	if err := a.pass.deletionHooks.Record(ctx, generated.Hooks, generated.Version(), a.pass.declared.Digest.Key); err != nil {
		return outcomes.Of(err)
	}
	result, err := a.applyRequest(ctx, a.request(generated, judge))
	a.announceWarnings(generated)
	a.explain(ctx, &result)
	switch {
	case err != nil:
		o := outcomes.Of(err)
		o.Message += texts.Aftermath(result)
		o.Wake = result.RequeueAfter
		return o
	case len(result.Failures) > 0:
		return outcomes.Outcome{Kind: outcomes.Failed, Message: texts.Failures(result) + texts.Aftermath(result), Wake: result.RequeueAfter}
	case result.Held != nil && len(result.Waits) == 0:
		return outcomes.Outcome{Kind: outcomes.Held, Message: approvalOf(a.pass, "").message(result.Held) + texts.Drift(result) + texts.Aftermath(result), Wake: result.RequeueAfter}
	case !result.Done:
		message := a.pass.worker.waves(a.pass.component).Waits(result, "ready")
		return outcomes.Outcome{Kind: outcomes.Progressing, Message: message + a.alsoHeld(result) + texts.Drift(result) + texts.Aftermath(result), Wake: result.RequeueAfter}
	}
	return outcomes.Proceed
}

// suspend ends the pass if the component is suspended and its dependents have suspended forms.
func (a application) suspend(ctx context.Context) outcomes.Outcome {
	if a.pass.settings.presence != PresenceSuspended {
		return outcomes.Proceed
	}
	judge, generated, err := a.want(ctx)
	if err != nil {
		return wanted(err)
	}
	if err := a.pass.rebuild(ctx, generated.Objects); err != nil {
		return outcomes.Of(err)
	}
	request := a.request(generated, judge)
	request.Suspend = true
	result, err := a.applyRequest(ctx, request)
	a.announceWarnings(generated)
	switch {
	case err != nil:
		return outcomes.Of(err)
	case len(result.Failures) > 0:
		return outcomes.Outcome{Kind: outcomes.Failed, Message: "suspending: " + texts.Failures(result), Wake: result.RequeueAfter}
	case !result.Done:
		return outcomes.Outcome{Kind: outcomes.Progressing, Message: "suspending: " + a.pass.worker.waves(a.pass.component).Waits(result, "suspended"), Wake: result.RequeueAfter}
	}
	message := "all dependents that have a suspended form are suspended"
	if !slices.ContainsFunc(generated.Objects, isSuspending) {
		message = "no dependent has a suspended form, so all are left alone"
	}
	return outcomes.Outcome{Kind: outcomes.Suspended, Message: "suspended: " + message, Wake: cmp.Or(result.RequeueAfter, a.pass.settings.timing.requeue)}
}

// amongSiblings makes a call of the engine that knows the siblings of the component; see siblings.Siblings.
func (a application) amongSiblings(ctx context.Context, call func(siblings map[string]reconciler.Relation) (foreign bool, err error)) error {
	w := a.pass.worker
	if w.siblings == nil {
		_, err := call(nil)
		return err
	}
	return siblings.Siblings{
		Cached: w.resource.Client, Live: w.resource.Live, Self: a.pass.key, OwnerID: w.ownerID,
		Find: func(ctx context.Context, reader client.Reader) (map[apitypes.NamespacedName]reconciler.Relation, error) {
			return w.siblings(ctx, reader, a.pass.component)
		},
	}.Among(ctx, call)
}

// applyRequest has the engine apply dependents.
func (a application) applyRequest(ctx context.Context, request reconciler.ApplyRequest) (reconciler.Result, error) {
	var result reconciler.Result
	err := a.amongSiblings(ctx, func(siblings map[string]reconciler.Relation) (bool, error) {
		var err error
		request.Siblings, request.Inventory = siblings, a.pass.status.Inventory
		result, err = a.pass.destination.Target().Engine.Apply(ctx, request)
		a.pass.took(&result)
		refusal, refused := errors.AsType[*inventory.RefusedError](err)
		return refused && refusal.Foreign, err
	})
	return result, err
}

// planRequest has the engine plan what it would do.
func (a application) planRequest(ctx context.Context, request reconciler.ApplyRequest) (reconciler.Plan, error) {
	var plan reconciler.Plan
	err := a.amongSiblings(ctx, func(siblings map[string]reconciler.Relation) (bool, error) {
		var err error
		request.Siblings = siblings
		// Asking takes a request for each object that does not exist. It is worth that before anything is applied; later, events would make it expensive.
		plan, err = a.pass.destination.Target().Engine.Plan(ctx, request, reconciler.PlanOptions{Ask: len(a.pass.status.Inventory) == 0})
		return slices.ContainsFunc(plan.Changes, func(change reconciler.Change) bool { return change.Foreign }), err
	})
	return plan, err
}

// announceWarnings reports what the generator, and the behaviors of its objects, have noticed.
func (a application) announceWarnings(generated *generation.Result) {
	a.pass.worker.announcer.noticed(a.pass.subject, a.pass.memory, a.pass.declared.Digest.Value, generated.Warnings.All())
}

func isSuspending(object client.Object) bool {
	_, ok := behaviors.Of[behaviors.Suspending](object)
	return ok
}

// request returns what the engine is asked to apply.
func (a application) request(generated *generation.Result, judge status.Judge) reconciler.ApplyRequest {
	return reconciler.ApplyRequest{
		Owner:        a.pass.owner(),
		Objects:      generated.Objects,
		Version:      generated.Version(),
		Digest:       a.pass.declared.Digest.Value,
		FormerDigest: a.pass.declared.Digest.Former,
		DigestKey:    a.pass.declared.Digest.Key,
		Policies:     a.pass.settings.policies,
		Judge:        judge,
		Deletions: reconciler.Deletions{
			Max:      a.pass.settings.maxDeletions,
			Approved: approvalOf(a.pass, "").digest,
		},
	}
}

// alsoHeld names held dependents as the end of a sentence; empty if nothing is held.
func (a application) alsoHeld(result reconciler.Result) string {
	if result.Held == nil {
		return ""
	}
	return "; " + approvalOf(a.pass, "").message(result.Held)
}

// afterReconcile runs the author's post-reconcile hooks, unless nothing has happened since they ran.
func (a application) afterReconcile(ctx context.Context) outcomes.Outcome {
	run := hookRun{
		digest: a.pass.declared.Digest.Value, labels: a.pass.component.GetLabels(), annotations: a.pass.component.GetAnnotations(),
		at: a.pass.worker.options.Clock.Now(),
	}
	isAsked := a.pass.worker.memories.takeTrigger(a.pass.key)
	if !isAsked && len(a.pass.result.Actions) == 0 && a.pass.memory.posted.covers(run, a.pass.settings.timing.requeue) {
		a.pass.posted = a.pass.memory.posted
		return outcomes.Proceed
	}
	a.pass.posted = run
	return a.pass.runHooks(a.pass.hookContext(ctx), "post-reconcile", a.pass.worker.hooks.postReconcile)
}

func (a application) markReady(context.Context) outcomes.Outcome {
	a.pass.status.AppliedGeneration = a.pass.component.GetGeneration()
	a.pass.status.LastAppliedAt = new(a.pass.now())
	if a.pass.status.InstalledRevision == 0 {
		a.pass.status.InstalledRevision = a.pass.status.Revision
	}
	return outcomes.Outcome{Kind: outcomes.Ready, Message: a.readyMessage(), Wake: a.pass.result.RequeueAfter}
}

func (a application) readyMessage() string {
	var kept []string
	for _, item := range a.pass.status.Inventory {
		if item.Phase == reconciler.PhaseKept {
			kept = append(kept, texts.Name(item))
		}
	}
	message := "there are no dependents"
	switch count := len(a.pass.status.Inventory) - len(kept); count {
	case 0:
	case 1:
		message = "1 dependent is ready"
	default:
		message = texts.Dependents(count) + " are ready"
	}
	if a.pass.result != nil {
		message += texts.Unhealthy(a.pass.result.Unhealthy) + texts.Drift(*a.pass.result) + texts.Aftermath(*a.pass.result)
	}
	if len(kept) > 0 {
		message += "; kept, although no longer in the manifests: " + texts.Join(kept, ", ")
	}
	if unwatched := a.unwatched(); len(unwatched) > 0 {
		message += "; read periodically, because they cannot be watched: " + texts.Join(unwatched, ", ")
	}
	return message
}

// unwatched returns the kinds that the component depends on and that cannot be watched, usually because a permission is missing.
func (a application) unwatched() []string {
	kinds := map[string]bool{}
	for _, kind := range items.Kinds(a.pass.status.Inventory) {
		kinds[schema.GroupKind{Group: kind.Group, Kind: kind.Kind}.String()] = true
	}
	return append(a.pass.destination.Target().Unwatched(kinds), a.pass.worker.referenced.Unwatched(a.pass.key)...)
}
