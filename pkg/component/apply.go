// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/hooks"
	"github.com/component-operator/runtime/pkg/component/internal/items"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// application has the phases of a component that is not being deleted.
type application struct{ *pass }

// leaveFormer deletes dependents in their former cluster, and connects to the new one. It does not run deletion hooks, because the component stays.
func (a application) leaveFormer(ctx context.Context) outcomes.Outcome {
	if !a.destination.Moving() {
		return outcomes.Proceed
	}
	move := a.destination.Move()
	if o := a.clearFormer(ctx); o.Kind != outcomes.Continue {
		o.Message = move + ": " + o.Message
		return o
	}
	a.result = nil
	return a.destination.Arrive()
}

// clearFormer deletes the dependents in the former cluster.
func (a application) clearFormer(ctx context.Context) outcomes.Outcome {
	if o := a.destination.Unreachable(ctx, a.rebuild(ctx, nil)); o.Kind != outcomes.Continue || a.destination.Abandoned() {
		return o
	}
	engine := a.destination.Target().Engine
	blockers, err := engine.CheckDeletion(ctx, reconciler.DeleteRequest{Owner: a.owner()})
	if err != nil {
		return a.destination.Unreachable(ctx, err)
	}
	if len(blockers) > 0 {
		return outcomes.Outcome{Kind: outcomes.Progressing, Message: blockerMessage(blockers)}
	}
	result, err := engine.Delete(ctx, reconciler.DeleteRequest{Owner: a.owner()})
	a.took(&result)
	switch {
	case err != nil:
		return a.destination.Unreachable(ctx, err)
	case !result.Done:
		return outcomes.Outcome{Kind: outcomes.Progressing, Message: texts.Waits(result, "deleted"), Wake: result.RequeueAfter}
	}
	return outcomes.Proceed
}

func (a application) ensureFinalizer(ctx context.Context) outcomes.Outcome {
	return outcomes.Of(a.handle.ChangeFinalizers(ctx, a.options.finalizers().With))
}

func (a application) beforeReconcile(ctx context.Context) outcomes.Outcome {
	return a.runHooks(a.hookContext(ctx), "pre-reconcile", a.hooks.preReconcile)
}

// apply generates the dependents and calls the engine.
func (a application) apply(ctx context.Context) outcomes.Outcome {
	generated, err := a.generate(ctx)
	if err != nil {
		return outcomes.Of(fmt.Errorf("generating dependents: %w", err))
	}
	if err := a.rebuild(ctx, generated.Objects); err != nil {
		return outcomes.Of(err)
	}
	if err := a.deletionHooks.Record(ctx, generated.Hooks, generated.Version(), a.declared.Digest.Key); err != nil {
		return outcomes.Of(err)
	}
	result, err := a.destination.Target().Engine.Apply(ctx, reconciler.ApplyRequest{
		Owner:        a.owner(),
		Objects:      generated.Objects,
		Version:      generated.Version(),
		Digest:       a.declared.Digest.Value,
		FormerDigest: a.declared.Digest.Former,
		DigestKey:    a.declared.Digest.Key,
		Policies:     a.settings.policies,
	})
	a.took(&result)
	switch {
	case err != nil:
		return outcomes.Of(err)
	case len(result.Failures) > 0:
		return outcomes.Outcome{Kind: outcomes.Failed, Message: texts.Failures(result), Wake: result.RequeueAfter}
	case !result.Done:
		return outcomes.Outcome{Kind: outcomes.Progressing, Message: texts.Waits(result, "ready") + driftMessage(result), Wake: result.RequeueAfter}
	}
	return outcomes.Proceed
}

// generate returns the dependents, and the deletion hooks.
func (a application) generate(ctx context.Context) (*generation.Result, error) {
	target := a.destination.Target()
	return generation.Generate(a.hookContext(ctx), &a.memory.generation, generation.Request{
		Generator: a.generator,
		Inputs: generation.Inputs{
			Digest:      a.declared.Digest.Value,
			Labels:      a.component.GetLabels(),
			Annotations: hooks.WithoutProof(a.component.GetAnnotations(), a.name),
			Namespace:   a.settings.namespace,
			Name:        a.settings.name,
			Revision:    a.status.Revision,
			Installed:   a.isInstalled(),
			Target:      target.ID,
		},
		Parameters: a.component.GetSpec(),
		Reconciler: a.name,
		Scheme:     target.Client.Scheme(),
		Context:    func() context.Context { return a.generatorContext(ctx) },
		LookedAtTypes: func(looked bool) {
			if looked {
				target.WatchTypes()
			}
			a.memories.depends(a.key, looked)
		},
		Log: a.log,
	})
}

// isInstalled reports whether all dependents were ready at least once in an earlier revision. The answer is the same throughout a revision.
func (a application) isInstalled() bool {
	return a.status.InstalledRevision > 0 && a.status.InstalledRevision < a.status.Revision
}

// generatorContext copies the component, including its inventory; the cost depends on its size.
func (a application) generatorContext(ctx context.Context) context.Context {
	component := a.component
	if copied, ok := component.DeepCopyObject().(Component); ok {
		component = copied
	}
	result := a.hookContext(ctx).
		WithComponent(component).
		WithComponentName(a.key.Name).
		WithComponentNamespace(a.key.Namespace).
		WithComponentDigest(a.declared.Digest.Value).
		WithComponentRevision(a.status.Revision)
	if len(a.options.AllowedTargets) > 0 {
		result = NewContext(clients.WithHosts(result, a.options.AllowedTargets))
	}
	if a.options.DisableLocalLookup {
		result = NewContext(generating.WithoutLocalLookup(result))
	}
	return generating.WithInstalled(result, a.isInstalled())
}

func (a application) afterReconcile(ctx context.Context) outcomes.Outcome {
	return a.runHooks(a.hookContext(ctx), "post-reconcile", a.hooks.postReconcile)
}

func (a application) markReady(context.Context) outcomes.Outcome {
	a.status.AppliedGeneration = a.component.GetGeneration()
	a.status.LastAppliedAt = new(a.now())
	if a.status.InstalledRevision == 0 {
		a.status.InstalledRevision = a.status.Revision
	}
	return outcomes.Outcome{Kind: outcomes.Ready, Message: a.readyMessage(), Wake: a.result.RequeueAfter}
}

func (a application) readyMessage() string {
	message := "there are no dependents"
	switch count := len(a.status.Inventory); count {
	case 0:
	case 1:
		message = "1 dependent is ready"
	default:
		message = texts.Dependents(count) + " are ready"
	}
	if a.result != nil {
		message += driftMessage(*a.result)
	}
	if unwatched := a.unwatched(); len(unwatched) > 0 {
		message += "; read periodically, because they cannot be watched: " + texts.Join(unwatched, ", ")
	}
	return message
}

// unwatched returns the kinds that the component depends on and that cannot be watched, usually because a permission is missing.
func (a application) unwatched() []string {
	kinds := map[string]bool{}
	for _, kind := range items.Kinds(a.status.Inventory) {
		kinds[schema.GroupKind{Group: kind.Group, Kind: kind.Kind}.String()] = true
	}
	return append(a.destination.Target().Unwatched(kinds), a.loader.Watcher.Unwatched(a.key)...)
}

func driftMessage(result reconciler.Result) string {
	if len(result.Drift) == 0 {
		return ""
	}
	return fmt.Sprintf("; %d changed by others: %s", len(result.Drift), texts.Notices(result.Drift))
}
