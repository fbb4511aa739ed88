// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/hooks"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/stays"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// want returns the judge of the dependents, and what the generator returns.
func (a application) want(ctx context.Context) (status.Judge, *generation.Result, error) {
	judge, err := judgeOf(a.pass.component)
	if err != nil {
		return nil, nil, err
	}
	generated, err := a.generate(ctx)
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

// longestCall is the maximum duration of a call of a generator. It ends before the pass does, so that the error can be told.
const longestCall = stays.LongestPass - time.Minute

// generate returns the dependents, and the deletion hooks.
func (a application) generate(ctx context.Context) (*generation.Result, error) {
	target := a.pass.destination.Target()
	result, err := generation.Generate(a.pass.hookContext(ctx), a.pass.worker.calls, &a.pass.memory.generation, generation.Request{
		Component: a.pass.key,
		Generator: a.pass.worker.generator,
		Inputs: generation.Inputs{
			UID:         a.pass.component.GetUID(),
			Digest:      a.pass.declared.Digest.Value,
			Labels:      a.pass.component.GetLabels(),
			Annotations: hooks.WithoutProof(a.pass.component.GetAnnotations(), a.pass.worker.name),
			Namespace:   a.pass.settings.namespace,
			Name:        a.pass.settings.name,
			Revision:    a.pass.status.Revision,
			Installed:   a.isInstalled(),
			Target:      target.ID,
		},
		Timeout:    min(a.pass.settings.timing.timeout, longestCall),
		Reconciler: a.pass.worker.name,
		Scheme:     target.Client.Scheme(),
		Prepare:    func() (context.Context, types.Unstructurable) { return a.forGenerator(ctx) },
		Slow:       func(message string) { a.announceSlow(ctx, message) },
		LookedAtTypes: func(looked bool) {
			if looked {
				target.WatchTypes()
			}
			a.pass.worker.memories.depends(a.pass.key, looked)
		},
		Log: a.pass.log,
	})
	if !isUnfinished(err) {
		a.pass.memory.ungenerated = false
	}
	return result, err
}

// announceSlow writes into the status that the generator takes long, once for each declaration. Later calls have a state that is worth more.
func (a application) announceSlow(ctx context.Context, message string) {
	if !a.pass.memory.ungenerated || a.pass.record.IsLost() {
		return
	}
	now := a.pass.now()
	a.pass.status.setState(verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing, message: "generating dependents: " + message}, now)
	a.pass.status.ProcessingSince = &now
	if err := a.pass.record.SaveInventory(ctx, a.pass.status.Inventory); err != nil {
		// The end of the pass tries it again.
		a.pass.log.V(1).Info("the status cannot be written while dependents are generated", "reason", err.Error())
	}
}

// isInstalled reports whether all dependents were ready at least once in an earlier revision. The answer is the same throughout a revision.
func (a application) isInstalled() bool {
	return a.pass.status.InstalledRevision > 0 && a.pass.status.InstalledRevision < a.pass.status.Revision
}

// forGenerator returns the context and the parameters of the generator, which may still use them when the pass has ended. The component in the context is a copy,
// including its inventory; the cost depends on its size. The parameters are not, because not every DeepCopy of an author copies loaded references: passes do not
// change the spec.
func (a application) forGenerator(ctx context.Context) (context.Context, types.Unstructurable) {
	component, ok := a.pass.component.DeepCopyObject().(Component)
	if !ok {
		component = a.pass.component
	}
	ctx = generating.WithComponent(a.pass.hookContext(ctx), component)
	ctx = generating.WithComponentName(ctx, a.pass.key.Name)
	ctx = generating.WithComponentNamespace(ctx, a.pass.key.Namespace)
	ctx = generating.WithComponentDigest(ctx, a.pass.declared.Digest.Value)
	ctx = generating.WithComponentRevision(ctx, a.pass.status.Revision)
	if len(a.pass.worker.options.AllowedTargets) > 0 {
		ctx = clients.WithHosts(ctx, a.pass.worker.options.AllowedTargets)
	}
	if a.pass.worker.options.DisableLocalLookup {
		ctx = generating.WithoutLocalLookup(ctx)
	}
	return generating.WithInstalled(ctx, a.isInstalled()), a.pass.component.GetSpec()
}
