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
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/pkg/component/internal/declared"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// step is one step of a pass. The first outcome other than Proceed ends the pass.
type step func(ctx context.Context) outcomes.Outcome

// steps lists the steps of a pass, in order.
func (p *pass) steps() []step {
	a, d := application{p}, deletion{p}
	common := []step{
		p.acknowledge,    // note a new component; end if it is being deleted without our finalizer
		d.noteOrphaning,  // whether dependents are to be orphaned
		p.recall,         // load the inventory
		p.checkSuspended, // end if the component is suspended
		p.load,           // load references, and compute the digest
		a.checkIdentity,  // refuse a service account that cannot exist
		p.track,          // start a new revision if the digest has changed
		p.afterRead,      // the author's post-read hooks
		p.visitTarget,    // take a place for the remote cluster
		p.connect,        // connect to the cluster of the dependents
		p.visitFormer,    // take a place for a cluster that dependents leave
	}
	if p.deleting {
		return append(common,
			d.rebuild,                // find dependents that are not recorded
			d.checkApproved,          // dependents whose deletion has to be approved block it
			d.before,                 // the author's pre-delete hooks
			d.checkAllowed,           // foreign instances of managed types block the deletion
			d.checkForeignFinalizers, // finalizers of other controllers block it, too
			d.runPreDeleteHooks,      // apply pre-delete hooks among the manifests, and wait for them
			d.deleteDependents,       // delete dependents wave by wave
			d.checkUnlisted,          // possible unrecorded dependents block the deletion
			d.runPostDeleteHooks,     // apply post-delete hooks among the manifests, and wait for them
			d.after,                  // the author's post-delete hooks
			d.removeHooks,            // remove the Secrets with deletion hooks
			d.removeRecord,           // remove the ConfigMaps with the inventory
			d.removeFinalizer,        // end the deletion
		)
	}
	return append(common,
		a.checkPresence,   // refuse an unknown presence
		a.observe,         // end if the component is paused: plan what would be done
		a.leaveFormer,     // delete dependents in a cluster that they leave
		a.archive,         // end if the component is archived: delete dependents wave by wave
		a.ensureFinalizer, // before the first dependent is written
		a.suspend,         // end if the component is suspended: bring dependents into their suspended forms
		a.beforeReconcile, // the author's pre-reconcile hooks
		a.apply,           // generate dependents, and apply them wave by wave
		a.afterReconcile,  // the author's post-reconcile hooks
		a.markReady,
	)
}

// run goes through the steps.
func (p *pass) run(ctx context.Context) outcomes.Outcome {
	for _, next := range p.steps() {
		if o := next(ctx); o.Kind != outcomes.Continue {
			return o
		}
	}
	return outcomes.Outcome{Kind: outcomes.Error, Message: "no step has ended the pass"}
}

// acknowledge notes a new component in the status. The next write persists that: either the engine's before its first request, or the one at the end
// of the pass.
func (p *pass) acknowledge(context.Context) outcomes.Outcome {
	isOurs := p.worker.options.finalizers().On(p.component.GetFinalizers())
	if p.deleting && (p.memory.finished || !isOurs) {
		return outcomes.Outcome{Kind: outcomes.Gone}
	}
	p.settings = settingsOf(p.component, p.worker.options)
	now := p.now()
	first := p.status.ObservedGeneration <= 0
	if first && isOurs {
		p.record.NoteLoss()
	}
	// A component without a record must not count as observed before its dependents are found. So the next pass notices the loss as well.
	if awaited := (inheritance{p}).isAwaited(); p.record.IsKept() && !awaited {
		p.status.ObservedGeneration = p.component.GetGeneration()
	}
	p.status.LastObservedAt = &now
	if first && !p.deleting {
		p.status.setState(verdict{state: StatePending, reason: ReadyConditionReasonNew, message: "first seen"}, now)
	}
	return outcomes.Proceed
}

// recall loads the inventory into memory.
func (p *pass) recall(ctx context.Context) outcomes.Outcome {
	return outcomes.Of(p.record.Recall(ctx))
}

func (p *pass) checkSuspended(context.Context) outcomes.Outcome {
	if !p.settings.suspended || p.deleting {
		return outcomes.Proceed
	}
	if suspending, ok := p.worker.generator.(generator.Suspending); !ok || !suspending.SuspendsDependents() {
		return outcomes.Outcome{Kind: outcomes.Suspended, Message: "reconciliation is suspended"}
	}
	p.settings.presence = PresenceSuspended
	return outcomes.Proceed
}

// checkIdentity refuses a service account that cannot exist. It does not hold back a deletion: dependents of a lost target can be abandoned.
func (a application) checkIdentity(context.Context) outcomes.Outcome {
	problem := identityProblem(a.pass.identity())
	if problem == "" || a.pass.deleting {
		return outcomes.Proceed
	}
	return outcomes.Of(inventory.NewRefusedError(problem))
}

// load loads the references of the spec.
func (p *pass) load(ctx context.Context) outcomes.Outcome {
	var err error
	p.declared, err = p.worker.loader.Load(ctx, declared.Component{
		Key:             p.key,
		Spec:            specOf(p.component),
		Generation:      p.component.GetGeneration(),
		Annotations:     ownAnnotations(p.component, p.worker.name),
		Generator:       generation.Fingerprint(p.worker.generator),
		Deleting:        p.deleting,
		NeedsReferences: len(p.worker.hooks.postRead)+len(p.worker.hooks.preDelete)+len(p.worker.hooks.postDelete) > 0,
		TargetUnknown:   hasForeignTarget(p.component),
		Extension: func(ctx context.Context, value any) (string, error) {
			return p.worker.extension(ctx, value, p.component)
		},
	})
	switch {
	case err != nil:
		return outcomes.Of(err)
	case !p.deleting && len(p.declared.Missing) > 0:
		return outcomes.Retry(awaiting(p.declared.Missing), outcomes.MissingDelay)
	}
	return outcomes.Proceed
}

// withoutRevision has the annotations that do not affect the generated objects.
var withoutRevision = []string{
	types.AnnotationKeySuffixDisableEvents, types.AnnotationKeySuffixAbandonTarget, types.AnnotationKeySuffixOrphanDependents,
	types.AnnotationKeySuffixDeletionHooksChecksum, types.AnnotationKeySuffixApproveDeletions, types.AnnotationKeySuffixDeletionApproved,
	types.AnnotationKeySuffixReconcileAt,
}

// ownAnnotations returns the annotations with the reconciler's prefix, except those that do not affect dependents. Other annotations must not cause a
// revision.
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

// track starts a new revision, and the timeout, if the declaration has changed.
func (p *pass) track(context.Context) outcomes.Outcome {
	if p.deleting {
		return outcomes.Proceed
	}
	digest := &p.declared.Digest
	digest.Recognize(&p.memory.declared, &p.status.ProcessingDigest, &p.status.LastProcessingDigest)
	inheritance{p}.settle()
	if digest.Value != p.status.ProcessingDigest {
		if p.status.ProcessingDigest != "" {
			p.status.setState(verdict{state: StateProcessing, reason: ReadyConditionReasonRestarting, message: "the declaration has changed"}, p.now())
		}
		p.status.ProcessingDigest = digest.Value
		p.memory.changedAt, p.memory.ungenerated = p.worker.options.Clock.Now(), true
		p.status.ProcessingSince = nil
		p.memory.refusals = 0
		p.memory.record.ForgetNote()
	}
	if p.status.LastAppliedAt != nil {
		// Operators without revisions have applied the first one already.
		p.status.Revision = max(p.status.Revision, 1)
		if p.status.InstalledRevision == 0 {
			// The revision of that time is not recorded. It is more likely an earlier one, if there is any.
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
	return p.runHooks(generating.WithReconcilerName(ctx, p.worker.name), "post-read", p.worker.hooks.postRead)
}

// visitTarget takes a place for a remote cluster.
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

// connect determines the cluster of the dependents, and connects to it.
func (p *pass) connect(ctx context.Context) outcomes.Outcome {
	var lost error
	switch {
	case !p.deleting:
	case p.declared.Lost != "":
		lost = errors.New(p.declared.Lost)
	case len(p.declared.Missing) > 0 && !p.destination.IsRemote() && hasForeignTarget(p.component):
		// It is not known any more whether the dependents are in this cluster or in another one.
		lost = errors.New(texts.Join(p.declared.Missing, "; "))
	}
	return p.destination.Connect(ctx, lost)
}

// visitFormer takes a place for the cluster that dependents are to leave.
func (p *pass) visitFormer(context.Context) outcomes.Outcome {
	target := p.destination.Target()
	if target == nil || !clients.IsRemote(target.ID) {
		return outcomes.Proceed
	}
	return p.stay.Visit(target.ID)
}

// isOrphaned reports whether the component is being deleted and its dependents are to be orphaned.
func isOrphaned(object client.Object) bool {
	return object.GetDeletionTimestamp() != nil && slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents)
}
