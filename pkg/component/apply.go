// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/secrets"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// checkPresence refuses an unknown presence. The definition of a component refuses it as well, unless its presence is
// computed.
func (p *pass) checkPresence(context.Context) outcomes.Outcome {
	switch p.settings.presence {
	case PresenceActive, PresenceSuspended, PresencePaused, PresenceArchived:
		return outcomes.Proceed
	default:
		return outcomes.Of(inventory.NewRefusedError(fmt.Sprintf("spec.presence: invalid value %q; must be one of: %s, %s, %s, %s",
			p.settings.presence, PresenceActive, PresenceSuspended, PresencePaused, PresenceArchived)))
	}
}

// observe ends the pass if the component is paused. It only plans the changes that apply would make.
func (p *pass) observe(ctx context.Context) outcomes.Outcome {
	if p.settings.presence != PresencePaused {
		return outcomes.Proceed
	}
	if p.destination.Moving() {
		return outcomes.Outcome{Kind: outcomes.Paused, Message: "paused: held back: " + p.destination.Move()}
	}
	judge, generated, err := p.want(ctx)
	if o := wanted(err); o.Kind == outcomes.Progressing {
		return outcomes.Outcome{Kind: outcomes.Paused, Message: "paused: " + o.Message}
	} else if o.Kind != outcomes.Continue {
		return o
	}
	// Asking costs a request for each missing object. That is acceptable before anything is applied; later, events would
	// repeat it too often.
	plan, err := p.planRequest(ctx, p.request(generated, judge), reconciler.PlanOptions{Ask: len(p.status.Inventory) == 0 || p.inherited != nil})
	if err != nil {
		return outcomes.Of(err)
	}
	p.plan = &plan
	return outcomes.Outcome{Kind: outcomes.Paused, Message: "paused: " + outcomes.HeldBack(plan)}
}

// archive ends the pass if the component is archived. It deletes the dependents, and does not run deletion hooks,
// because the component stays.
func (p *pass) archive(ctx context.Context) outcomes.Outcome {
	if p.settings.presence != PresenceArchived {
		return outcomes.Proceed
	}
	if len(p.status.Inventory) > 0 || p.record.IsLost() {
		if o := p.deleteAll(ctx, "archiving"); o.Kind != outcomes.Continue {
			return o
		}
	}
	if err := p.releaseDependencies(ctx, true); err != nil {
		return outcomes.Of(err)
	}
	return outcomes.Outcome{Kind: outcomes.Archived, Message: "archived: there are no dependents"}
}

// leaveFormer deletes dependents in their former cluster, and connects to the new one. It does not run deletion hooks,
// because the component stays. It ends the pass if the component is suspended.
func (p *pass) leaveFormer(ctx context.Context) outcomes.Outcome {
	switch {
	case !p.destination.Moving():
		return outcomes.Proceed
	case p.settings.presence == PresenceSuspended:
		return outcomes.Outcome{Kind: outcomes.Suspended, Message: "suspended: held back: " + p.destination.Move()}
	}
	if o := p.deleteAll(ctx, p.destination.Move()); o.Kind != outcomes.Continue {
		return o
	}
	p.result = nil
	// Events about dependents go through the connection to the former cluster.
	p.emit()
	return p.destination.Arrive()
}

// deleteAll deletes the dependents of a component that stays. The message of the outcome begins with the reason.
func (p *pass) deleteAll(ctx context.Context, reason string) outcomes.Outcome {
	o := p.destination.Unreachable(ctx, p.rebuild(ctx, nil))
	if o.Kind == outcomes.Continue && !p.destination.Abandoned() {
		o = p.checkInstances(ctx, p.owner())
	}
	if o.Kind == outcomes.Continue && !p.destination.Abandoned() {
		approval := approvalOf(p, p.declared.Digest.Value)
		o = p.remove(ctx, approval.request(p.owner()), approval)
	}
	if o.Kind == outcomes.Blocked || o.Kind == outcomes.Deleting {
		o.Kind = outcomes.Progressing
	}
	o.Message = reason + ": " + o.Message
	return o
}

func (p *pass) ensureFinalizer(ctx context.Context) outcomes.Outcome {
	finalizers := p.worker.options.finalizers()
	if p.worker.options.GeneratedSecrets && !finalizers.On(p.component.GetFinalizers()) {
		// A component with our finalizer and without a status has lost its status, and perhaps a seed.
		if err := p.record.SaveStatus(ctx); err != nil {
			return outcomes.Of(err)
		}
	}
	err := p.handle.ChangeFinalizers(ctx, finalizers.With)
	p.finalized = err == nil
	return outcomes.Of(err)
}

func (p *pass) beforeReconcile(ctx context.Context) outcomes.Outcome {
	return p.runHooks(p.hookContext(ctx), "pre-reconcile", p.worker.hooks.preReconcile)
}

// prepare generates the dependents, and completes the inventory.
func (p *pass) prepare(ctx context.Context) (reconciler.ApplyRequest, *generation.Result, outcomes.Outcome) {
	judge, generated, err := p.want(ctx)
	if err != nil {
		return reconciler.ApplyRequest{}, nil, wanted(err)
	}
	err = p.rebuild(ctx, generated.Objects)
	return p.request(generated, judge), generated, outcomes.Of(err)
}

// apply generates the dependents and calls the engine.
func (p *pass) apply(ctx context.Context) outcomes.Outcome {
	request, generated, o := p.prepare(ctx)
	if o.Kind != outcomes.Continue {
		return o
	}
	if err := p.deletionHooks.Record(ctx, generated.Hooks, generated.Version(), p.digestKey()); err != nil {
		return outcomes.Of(err)
	}
	result, err := p.applyRequest(ctx, request)
	p.announceWarnings(generated)
	p.explain(ctx, &result)
	switch {
	case err != nil:
		o := outcomes.Of(err)
		o.Message += outcomes.Aftermath(result)
		o.Wake = result.RequeueAfter
		return o
	case len(result.Failures) > 0:
		return outcomes.Outcome{Kind: outcomes.Failed, Message: outcomes.Failures(result) + outcomes.Aftermath(result), Wake: result.RequeueAfter}
	case result.Held != nil && len(result.Waits) == 0:
		return outcomes.Outcome{Kind: outcomes.Held, Message: approvalOf(p, "").message(result.Held) + outcomes.Drift(result) + outcomes.Aftermath(result), Wake: result.RequeueAfter}
	case !result.Done:
		message := p.worker.waves(p.component).Waits(result, "ready")
		return outcomes.Outcome{Kind: outcomes.Progressing, Message: message + p.alsoHeld(result) + outcomes.Drift(result) + outcomes.Aftermath(result), Wake: result.RequeueAfter}
	}
	return outcomes.Proceed
}

// suspend ends the pass if the component is suspended and its dependents have suspended forms.
func (p *pass) suspend(ctx context.Context) outcomes.Outcome {
	if p.settings.presence != PresenceSuspended {
		return outcomes.Proceed
	}
	request, generated, o := p.prepare(ctx)
	if o.Kind != outcomes.Continue {
		return o
	}
	request.Suspend = true
	result, err := p.applyRequest(ctx, request)
	p.announceWarnings(generated)
	switch {
	case err != nil:
		return outcomes.Of(err)
	case len(result.Failures) > 0:
		return outcomes.Outcome{Kind: outcomes.Failed, Message: "suspending: " + outcomes.Failures(result), Wake: result.RequeueAfter}
	case !result.Done:
		return outcomes.Outcome{Kind: outcomes.Progressing, Message: "suspending: " + p.worker.waves(p.component).Waits(result, "suspended"), Wake: result.RequeueAfter}
	}
	message := "all dependents that can be suspended are suspended"
	if !slices.ContainsFunc(generated.Objects, isSuspending) {
		message = "no dependent can be suspended, so all stay as they are"
	}
	return outcomes.Outcome{Kind: outcomes.Suspended, Message: "suspended: " + message, Wake: result.RequeueAfter}
}

// amongSiblings passes the siblings of the component to a call of the engine. If the call finds a dependent of a
// foreign owner, the cache may lag behind: then it reads the siblings from the API server, and repeats the call if they
// differ.
func (p *pass) amongSiblings(ctx context.Context, call func(siblings map[string]reconciler.Relation) (foreign bool, err error)) error {
	w := p.worker
	if w.siblings == nil {
		_, err := call(nil)
		return err
	}
	cached, err := p.siblings(ctx, w.resource.Client)
	if err != nil {
		return err
	}
	foreign, err := call(cached)
	if !foreign {
		return err
	}
	live, lookErr := p.siblings(ctx, w.resource.Live)
	switch {
	case lookErr != nil:
		return lookErr
	case maps.Equal(live, cached):
		return err
	}
	_, err = call(live)
	return err
}

// siblings returns the siblings of the component by owner ID, read through a reader.
func (p *pass) siblings(ctx context.Context, reader client.Reader) (map[string]reconciler.Relation, error) {
	found, err := p.worker.siblings(ctx, reader, p.component)
	if err != nil {
		return nil, fmt.Errorf("finding siblings: %w", err)
	}
	relations := make(map[string]reconciler.Relation, len(found))
	for key, relation := range found {
		if relation != reconciler.RelationOlder && relation != reconciler.RelationNewer || key == p.key {
			return nil, fmt.Errorf("finding siblings: %s: invalid relation %q; must be %s or %s, and not a relation to itself",
				key, relation, reconciler.RelationOlder, reconciler.RelationNewer)
		}
		relations[p.worker.ownerID(key)] = relation
	}
	return relations, nil
}

// applyRequest makes the engine apply dependents.
func (p *pass) applyRequest(ctx context.Context, request reconciler.ApplyRequest) (reconciler.Result, error) {
	var result reconciler.Result
	err := p.amongSiblings(ctx, func(siblings map[string]reconciler.Relation) (bool, error) {
		var err error
		request.Siblings, request.Inventory = siblings, p.status.Inventory
		result, err = p.destination.Target().Engine.Apply(ctx, request)
		p.took(&result)
		refusal, refused := errors.AsType[*inventory.RefusedError](err)
		return refused && refusal.Foreign, err
	})
	return result, err
}

// planRequest makes the engine plan its changes.
func (p *pass) planRequest(ctx context.Context, request reconciler.ApplyRequest, options reconciler.PlanOptions) (reconciler.Plan, error) {
	var plan reconciler.Plan
	err := p.amongSiblings(ctx, func(siblings map[string]reconciler.Relation) (bool, error) {
		var err error
		request.Siblings = siblings
		plan, err = p.destination.Target().Engine.Plan(ctx, request, options)
		return slices.ContainsFunc(plan.Changes, func(change reconciler.Change) bool { return change.Foreign }), err
	})
	return plan, err
}

func isSuspending(object client.Object) bool {
	_, ok := behaviors.Of[behaviors.Suspending](object)
	return ok
}

// digestKey returns the key for digests of dependents, which may have secrets.
func (p *pass) digestKey() []byte {
	if !p.worker.options.GeneratedSecrets {
		return p.declared.Digest.Key
	}
	return slices.Concat(p.declared.Digest.Key, p.seed.Key())
}

// request returns the request to the engine.
func (p *pass) request(generated *generation.Result, judge status.Judge) reconciler.ApplyRequest {
	var adopted []types.ObjectKey
	if p.inherited != nil {
		adopted = p.inherited.Objects
	}
	return reconciler.ApplyRequest{
		Owner:        p.owner(),
		TakeOver:     adopted,
		Objects:      generated.Objects,
		Version:      generated.Version(),
		Digest:       p.declared.Digest.Value,
		FormerDigest: p.declared.Digest.Former,
		DigestKey:    p.digestKey(),
		Policies:     p.settings.policies,
		Judge:        judge,
		Deletions: reconciler.Deletions{
			Max:      p.settings.maxDeletions,
			Approved: approvalOf(p, "").digest,
		},
	}
}

// alsoHeld names held dependents as the end of a sentence; empty if nothing is held.
func (p *pass) alsoHeld(result reconciler.Result) string {
	if result.Held == nil {
		return ""
	}
	return "; " + approvalOf(p, "").message(result.Held)
}

// afterReconcile runs the author's post-reconcile hooks, unless nothing has happened since they ran.
func (p *pass) afterReconcile(ctx context.Context) outcomes.Outcome {
	run := hookRun{
		digest: p.declared.Digest.Value, labels: p.component.GetLabels(), annotations: p.component.GetAnnotations(),
		at: p.worker.options.Clock.Now(),
	}
	isAsked := p.memory.triggered.Swap(false)
	if !isAsked && len(p.result.Actions) == 0 && p.memory.posted.covers(run, p.settings.timing.requeue) {
		p.posted = p.memory.posted
		return outcomes.Proceed
	}
	p.posted = run
	return p.runHooks(p.hookContext(ctx), "post-reconcile", p.worker.hooks.postReconcile)
}

func (p *pass) markReady(context.Context) outcomes.Outcome {
	if taken := p.status.Rollout; taken != nil && taken.ArrivedAt == nil && p.worker.rollout != nil {
		taken.ArrivedAt = new(p.now())
	}
	if versioned, ok := p.worker.generator.(generator.Versioned); ok {
		p.status.Version = versioned.Version()
	}
	p.status.AppliedGeneration = p.component.GetGeneration()
	p.status.LastAppliedAt = new(p.now())
	if p.status.InstalledRevision == 0 {
		p.status.InstalledRevision = p.status.Revision
	}
	return outcomes.Outcome{Kind: outcomes.Ready, Message: p.readyMessage(), Wake: p.result.RequeueAfter}
}

func (p *pass) readyMessage() string {
	var kept []string
	for _, item := range p.status.Inventory {
		if item.Phase == reconciler.PhaseKept {
			kept = append(kept, outcomes.Name(item))
		}
	}
	message := "there are no dependents"
	switch count := len(p.status.Inventory) - len(kept); count {
	case 0:
	case 1:
		message = "1 dependent is ready"
	default:
		message = outcomes.Dependents(count) + " are ready"
	}
	if p.result != nil {
		message += outcomes.Unhealthy(p.result.Unhealthy) + outcomes.Drift(*p.result) + outcomes.Aftermath(*p.result)
	}
	if len(kept) > 0 {
		message += "; kept, although no longer in the manifests: " + outcomes.Join(kept, ", ")
	}
	if unwatched := p.unwatched(); len(unwatched) > 0 {
		message += "; read periodically, because they cannot be watched: " + outcomes.Join(unwatched, ", ")
	}
	return message
}

// unwatched returns the kinds that the component depends on and that cannot be watched, usually because a permission is
// missing.
func (p *pass) unwatched() []string {
	kinds := map[string]bool{}
	for _, kind := range records.Kinds(p.status.Inventory) {
		kinds[schema.GroupKind{Group: kind.Group, Kind: kind.Kind}.String()] = true
	}
	return append(p.destination.Target().Unwatched(kinds), p.worker.referenced.Unwatched(p.key)...)
}

// want returns the judge of the dependents (nil for the reconciler's own), and the result of the generator.
func (p *pass) want(ctx context.Context) (status.Judge, *generation.Result, error) {
	var judge status.Judge
	if c, ok := capability[JudgeConfiguration](p.component); ok {
		var err error
		if judge, err = c.GetJudge(); err != nil {
			return nil, nil, inventory.NewRefusedError("cannot judge dependents: " + err.Error())
		}
	}
	generated, err := p.generate(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("generating dependents: %w", err)
	}
	return judge, generated, nil
}

// wanted classifies an error of want. A pass does not wait for a generator that does not return.
func wanted(err error) outcomes.Outcome {
	if isUnfinished(err) {
		return outcomes.Outcome{Kind: outcomes.Progressing, Message: err.Error()}
	}
	return outcomes.Of(err)
}

func isUnfinished(err error) bool {
	_, unfinished := errors.AsType[*generation.UnfinishedError](err)
	return unfinished
}

// longestCall is the maximum duration of a call of a generator. It is shorter than a pass, so that the pass can report
// the error.
const longestCall = queue.LongestPass - time.Minute

// generate returns the dependents, and the deletion hooks.
func (p *pass) generate(ctx context.Context) (*generation.Result, error) {
	target := p.destination.Target()
	now := p.worker.options.Clock.Now()
	source, err := p.secretSource(ctx, now)
	if err != nil {
		return nil, err
	}
	called := false
	result, err := generation.Generate(p.hookContext(ctx), p.worker.calls, &p.memory.generation, generation.Request{
		Component: p.key,
		Generator: p.worker.generator,
		Inputs: generation.Inputs{
			UID:         p.component.GetUID(),
			Digest:      p.declared.Digest.Value,
			Labels:      p.component.GetLabels(),
			Annotations: records.WithoutProof(p.component.GetAnnotations(), p.worker.name),
			Namespace:   p.settings.namespace,
			Name:        p.settings.name,
			Revision:    p.status.Revision,
			Installed:   p.isInstalled(),
			Target:      target.ID,
			Seed:        p.seed.Version(),
		},
		Timeout:    min(p.settings.timing.timeout, longestCall),
		Reconciler: p.worker.name,
		Scheme:     target.Client.Scheme(),
		Prepare: func() (context.Context, types.Unstructurable) {
			called = true
			return p.forGenerator(ctx, source)
		},
		Slow: func(message string) { p.announceSlow(ctx, message) },
		LookedAtTypes: func(looked bool) {
			if looked {
				target.WatchTypes()
			}
			p.memory.typed.Store(looked)
		},
		Log: p.log,
	})
	if !isUnfinished(err) {
		p.memory.ungenerated = false
	}
	if called && err == nil && !p.seed.NoteRenewal(source, now) {
		// Its certificates are outdated: the component had none before, or its status was lost. Now the time is right.
		return p.generate(ctx)
	}
	return result, err
}

// secretSource returns the source of generated secrets; nil without the option GeneratedSecrets.
func (p *pass) secretSource(ctx context.Context, now time.Time) (*secrets.Source, error) {
	if !p.worker.options.GeneratedSecrets {
		return nil, nil
	}
	return p.seed.Source(ctx, p.finalized, now)
}

// announceSlow reports in the status that the generator takes long, once for each declaration. Later calls must not
// replace a more useful state.
func (p *pass) announceSlow(ctx context.Context, message string) {
	if !p.memory.ungenerated || p.record.IsLost() {
		return
	}
	now := p.now()
	p.status.setState(verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing, message: "generating dependents: " + message}, now)
	p.status.ProcessingSince = &now
	if err := p.record.Save(ctx, p.status.Inventory); err != nil {
		// The end of the pass tries again.
		p.log.V(1).Info("the status cannot be written while dependents are generated", "reason", err.Error())
	}
}

// isInstalled reports whether all dependents were ready at least once in an earlier revision. The answer is the same
// throughout a revision.
func (p *pass) isInstalled() bool {
	return p.status.InstalledRevision > 0 && p.status.InstalledRevision < p.status.Revision
}

// forGenerator returns the context and the parameters of the generator, which may still use them when the pass has
// ended. The component in the context is a copy, including its inventory; the cost depends on its size. The parameters
// are not copied, because an author's DeepCopy may omit loaded references; passes do not change the spec.
func (p *pass) forGenerator(ctx context.Context, source *secrets.Source) (context.Context, types.Unstructurable) {
	component, ok := p.component.DeepCopyObject().(Component)
	if !ok {
		component = p.component
	}
	ctx = generator.NewContext(ctx, generator.Surroundings{
		ReconcilerName: p.worker.name, Client: p.destination.Target().Client, LocalClient: p.worker.local,
		Component: component, ComponentNamespace: p.key.Namespace, ComponentName: p.key.Name,
		ComponentDigest: p.declared.Digest.Value, ComponentRevision: p.status.Revision, Installed: p.isInstalled(),
		Secrets: source,
	})
	if len(p.worker.options.AllowedTargets) > 0 {
		ctx = clients.WithHosts(ctx, p.worker.options.AllowedTargets)
	}
	if p.worker.options.DisableLocalLookup {
		ctx = generating.NoLocalLookup.With(ctx, true)
	}
	return ctx, p.component.GetSpec()
}
