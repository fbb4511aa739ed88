// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/component/internal/declared"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/types"
)

// phase is a step of a pass. The first outcome that does not say to proceed ends the pass.
type phase func(ctx context.Context) outcomes.Outcome

// phases is the way of a component through a pass.
func (p *pass) phases() []phase {
	a, d := application{p}, deletion{p}
	common := []phase{
		p.acknowledge,    // look at the component; a deleted one without our finalizer is none of our business
		d.noteOrphaning,  // whether dependents are to be released when the component goes
		p.recall,         // have the inventory in memory, wherever it is kept
		p.checkSuspended, // leave dependents alone if users want that
		p.load,           // load references; find out what is declared
		p.track,          // begin a new revision if that has changed
		p.afterRead,      // post-read hooks
		p.visitTarget,    // take a place among those that wait for remote clusters
		p.connect,        // connect to the cluster that has the dependents
		p.visitFormer,    // take a place if that is one that they are to leave
	}
	if p.deleting {
		return append(common,
			d.rebuild,                // find dependents that are not recorded
			d.before,                 // pre-delete hooks of the author
			d.checkAllowed,           // foreign instances of managed types hold the deletion back
			d.checkForeignFinalizers, // so do finalizers of others
			d.runPreDeleteHooks,      // apply pre-delete hooks among the dependents, and await them
			d.deleteDependents,       // delete wave by wave
			d.checkUnlisted,          // dependents of which nobody knows hold the deletion back
			d.runPostDeleteHooks,     // apply post-delete hooks, and await them
			d.after,                  // post-delete hooks of the author
			d.removeHooks,            // remove the Secrets that have deletion hooks
			d.removeRecord,           // remove the ConfigMaps that have the inventory
			d.removeFinalizer,        // let the component go
		)
	}
	return append(common,
		a.leaveFormer,     // delete dependents in a cluster that they are to leave
		a.ensureFinalizer, // before anything is written that has to be deleted
		a.beforeReconcile, // pre-reconcile hooks
		a.apply,           // generate dependents, and apply them wave by wave
		a.afterReconcile,  // post-reconcile hooks
		a.markReady,
	)
}

// run goes through the phases.
func (p *pass) run(ctx context.Context) outcomes.Outcome {
	for _, next := range p.phases() {
		if o := next(ctx); o.Kind != outcomes.Continue {
			return o
		}
	}
	return outcomes.Outcome{Kind: outcomes.Error, Message: "the phases have come to no end"}
}

// acknowledge looks at the component for the first time. What it notes in the status is persisted by whoever writes first:
// the engine before it touches the cluster, or the end of the pass.
func (p *pass) acknowledge(context.Context) outcomes.Outcome {
	isOurs := p.options.finalizers().On(p.component.GetFinalizers())
	if p.deleting && (p.memory.finished || !isOurs) {
		return outcomes.Outcome{Kind: outcomes.Gone}
	}
	p.settings = settingsOf(p.component)
	now := p.now()
	first := p.status.ObservedGeneration <= 0
	if first && isOurs {
		p.record.NoteLoss()
	}
	// A component without a record does not count as observed before its dependents are found; so the loss is noticed again.
	if p.record.IsKept() {
		p.status.ObservedGeneration = p.component.GetGeneration()
	}
	p.status.LastObservedAt = &now
	if first && !p.deleting {
		p.status.setState(verdict{state: StatePending, reason: ReadyConditionReasonNew, message: "first seen"}, now)
	}
	return outcomes.Proceed
}

// recall has the inventory in memory.
func (p *pass) recall(ctx context.Context) outcomes.Outcome {
	return outcomes.Of(p.record.Recall(ctx))
}

func (p *pass) checkSuspended(context.Context) outcomes.Outcome {
	if p.settings.suspended && !p.deleting {
		return outcomes.Outcome{Kind: outcomes.Suspended, Message: "reconciliation is suspended"}
	}
	return outcomes.Proceed
}

// load loads the references of the spec.
func (p *pass) load(ctx context.Context) outcomes.Outcome {
	var err error
	p.declared, err = p.loader.Load(ctx, declared.Component{
		Key:         p.key,
		Spec:        specOf(p.component),
		Generation:  p.component.GetGeneration(),
		Annotations: ownAnnotations(p.component, p.name),
		Generator:   generation.Fingerprint(p.generator),
		Deleting:    p.deleting,
		Looked:      len(p.hooks.postRead)+len(p.hooks.preDelete)+len(p.hooks.postDelete) > 0,
		Opaque:      hasForeignTarget(p.component),
		Extension:   func(ctx context.Context, value any) (string, error) { return p.extension(ctx, value, p.component) },
	})
	switch {
	case err != nil:
		return outcomes.Of(err)
	case !p.deleting && len(p.declared.Missing) > 0:
		return outcomes.Retry("waiting for references: "+texts.Join(p.declared.Missing, "; "), outcomes.MissingDelay)
	}
	return outcomes.Proceed
}

// withoutRevision are annotations that say nothing about dependents that are wanted.
var withoutRevision = []string{
	types.AnnotationKeySuffixDisableEvents, types.AnnotationKeySuffixAbandonTarget, types.AnnotationKeySuffixOrphanDependents,
	types.AnnotationKeySuffixDeletionHooksChecksum,
}

// ownAnnotations returns the annotations that address the reconciler of a name, except those that do not concern dependents.
// Those of others come and go without meaning.
func ownAnnotations(component Component, reconciler string) map[string]string {
	own := map[string]string{}
	for key, value := range component.GetAnnotations() {
		suffix, ok := strings.CutPrefix(key, reconciler+"/")
		if ok && !slices.Contains(withoutRevision, suffix) {
			own[key] = value
		}
	}
	return own
}

// track starts a new revision, and the clock of the timeout, if what is declared has changed.
func (p *pass) track(context.Context) outcomes.Outcome {
	if p.deleting {
		return outcomes.Proceed
	}
	digest := &p.declared.Digest
	digest.Recognize(&p.memory.declared, &p.status.ProcessingDigest, &p.status.LastProcessingDigest)
	if digest.Value != p.status.ProcessingDigest {
		if p.status.ProcessingDigest != "" {
			p.status.setState(verdict{state: StateProcessing, reason: ReadyConditionReasonRestarting, message: "what is declared has changed"}, p.now())
		}
		p.status.ProcessingDigest = digest.Value
		p.status.ProcessingSince = nil
		p.memory.refusals = 0
		p.memory.record.ForgetNote()
	}
	if p.status.LastAppliedAt != nil {
		// Before there were revisions, the first one had been applied already.
		p.status.Revision = max(p.status.Revision, 1)
		if p.status.InstalledRevision == 0 {
			// Nobody has recorded in which revision that was. It is more likely an earlier one, if there is any.
			p.status.InstalledRevision = max(p.status.Revision-1, 1)
		}
	}
	if digest.Value != p.status.LastProcessingDigest {
		p.status.Revision++
		p.status.LastProcessingDigest = digest.Value
	}
	return outcomes.Proceed
}

func (p *pass) afterRead(ctx context.Context) outcomes.Outcome {
	return p.runHooks(NewContext(ctx).WithReconcilerName(p.name), "post-read", p.hooks.postRead)
}

// visitTarget begins to deal with a remote cluster.
func (p *pass) visitTarget(context.Context) outcomes.Outcome {
	kubeConfig := p.identity().KubeConfig
	if p.declared.Lost != "" || len(kubeConfig) == 0 {
		return outcomes.Proceed
	}
	id, err := clients.Key{KubeConfig: kubeConfig}.ID()
	if err != nil {
		return outcomes.Of(err)
	}
	return p.stay.Visit(id)
}

// connect finds out where dependents live.
func (p *pass) connect(ctx context.Context) outcomes.Outcome {
	var lost error
	switch {
	case !p.deleting:
	case p.declared.Lost != "":
		lost = errors.New(p.declared.Lost)
	case len(p.declared.Missing) > 0 && !p.destination.IsRemote() && hasForeignTarget(p.component):
		// Whether the dependents are in this cluster or in another one cannot be told any more.
		lost = errors.New(texts.Join(p.declared.Missing, "; "))
	}
	return p.destination.Connect(ctx, lost)
}

// visitFormer is visitTarget for a cluster that has the dependents, and to which the kubeconfig does not lead any more.
func (p *pass) visitFormer(context.Context) outcomes.Outcome {
	target := p.destination.Target()
	if target == nil || !clients.IsRemote(target.ID) {
		return outcomes.Proceed
	}
	return p.stay.Visit(target.ID)
}

// isOrphaned reports whether somebody deletes the component and wants its dependents to stay.
func isOrphaned(object client.Object) bool {
	return object.GetDeletionTimestamp() != nil && slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents)
}
