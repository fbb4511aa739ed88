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
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/queue"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// want returns the judge of the dependents, and what the generator returns.
func (p *pass) want(ctx context.Context) (status.Judge, *generation.Result, error) {
	judge, err := judgeOf(p.component)
	if err != nil {
		return nil, nil, err
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

// longestCall is the maximum duration of a call of a generator. It ends before the pass does, so that the error can be
// told.
const longestCall = queue.LongestPass - time.Minute

// generate returns the dependents, and the deletion hooks.
func (p *pass) generate(ctx context.Context) (*generation.Result, error) {
	target := p.destination.Target()
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
		},
		Timeout:    min(p.settings.timing.timeout, longestCall),
		Reconciler: p.worker.name,
		Scheme:     target.Client.Scheme(),
		Prepare:    func() (context.Context, types.Unstructurable) { return p.forGenerator(ctx) },
		Slow:       func(message string) { p.announceSlow(ctx, message) },
		LookedAtTypes: func(looked bool) {
			if looked {
				target.WatchTypes()
			}
			p.worker.memories.depends(p.memory, looked)
		},
		Log: p.log,
	})
	if !isUnfinished(err) {
		p.memory.ungenerated = false
	}
	return result, err
}

// announceSlow writes into the status that the generator takes long, once for each declaration. Later calls have a
// state that is worth more.
func (p *pass) announceSlow(ctx context.Context, message string) {
	if !p.memory.ungenerated || p.record.IsLost() {
		return
	}
	now := p.now()
	p.status.setState(verdict{state: StateProcessing, reason: ReadyConditionReasonProcessing, message: "generating dependents: " + message}, now)
	p.status.ProcessingSince = &now
	if err := p.record.Save(ctx, p.status.Inventory); err != nil {
		// The end of the pass tries it again.
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
// are not, because not every DeepCopy of an author copies loaded references: passes do not change the spec.
func (p *pass) forGenerator(ctx context.Context) (context.Context, types.Unstructurable) {
	component, ok := p.component.DeepCopyObject().(Component)
	if !ok {
		component = p.component
	}
	ctx = generating.Component.With(p.hookContext(ctx), component)
	ctx = generating.ComponentName.With(ctx, p.key.Name)
	ctx = generating.ComponentNamespace.With(ctx, p.key.Namespace)
	ctx = generating.ComponentDigest.With(ctx, p.declared.Digest.Value)
	ctx = generating.ComponentRevision.With(ctx, p.status.Revision)
	if len(p.worker.options.AllowedTargets) > 0 {
		ctx = clients.WithHosts(ctx, p.worker.options.AllowedTargets)
	}
	if p.worker.options.DisableLocalLookup {
		ctx = generating.NoLocalLookup.With(ctx, true)
	}
	return generating.Installed.With(ctx, p.isInstalled()), p.component.GetSpec()
}
