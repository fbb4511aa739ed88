// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/generating"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/component/internal/generation"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// step is one step of a pass. The first outcome other than Proceed ends the pass.
type step func(ctx context.Context) outcomes.Outcome

// steps lists the steps of a pass, in order.
func (p *pass) steps() []step {
	common := []step{
		p.acknowledge,   // note a new component; end if it is being deleted without our finalizer
		p.noteOrphaning, // whether dependents are to be orphaned
		p.recall,        // load the inventory
		p.resolve,       // find out what the component depends on
		p.load,          // load references, and compute the digest
		p.checkIdentity, // refuse a service account that cannot exist
		p.awaitTurn,     // end if other components take a new version of the operator first
		p.inherit,       // find out what a former manager has installed
		p.track,         // start a new revision if the digest has changed
		p.afterRead,     // the author's post-read hooks
		p.visitTarget,   // take a place for the remote cluster
		p.connect,       // connect to the cluster of the dependents
		p.visitFormer,   // take a place for a cluster that dependents leave
	}
	if p.deleting {
		return append(common,
			p.checkNeeded,               // components that depend on this one block its deletion
			p.findUnrecorded,            // find dependents that are not recorded
			p.noteKept,                  // whether the seed of generated secrets stays with dependents
			p.checkApproved,             // dependents whose deletion has to be approved block it
			p.beforeDelete,              // the author's pre-delete hooks
			p.checkAllowed,              // foreign instances of managed types block the deletion
			p.checkForeignFinalizers,    // finalizers of other controllers block it, too
			p.runPreDeleteHooks,         // apply pre-delete hooks among the manifests, and wait for them
			p.deleteDependents,          // delete dependents wave by wave
			p.destination.CheckUnlisted, // possible unrecorded dependents block the deletion
			p.runPostDeleteHooks,        // apply post-delete hooks among the manifests, and wait for them
			p.afterDelete,               // the author's post-delete hooks
			p.removal("Secrets with deletion hooks", p.deletionHooks.Remove),
			p.removal("the Secret with the seed", p.removeSeed),
			p.removal("chunks of the inventory", p.record.Remove),
			p.leaveDependencies, // let what the component depends on be deleted
			p.removeFinalizer,   // end the deletion
		)
	}
	return append(common,
		p.checkPresence,     // refuse an unknown presence
		p.observe,           // end if the component is paused: plan what would be done
		p.leaveFormer,       // delete dependents in a cluster that they leave
		p.archive,           // end if the component is archived: delete dependents wave by wave
		p.ensureFinalizer,   // before the first dependent is written
		p.suspend,           // end if the component is suspended: bring dependents into their suspended forms
		p.awaitDependencies, // end if an object that the component depends on is not ready
		p.beforeReconcile,   // the author's pre-reconcile hooks
		p.apply,             // generate dependents, and apply them wave by wave
		p.afterReconcile,    // the author's post-reconcile hooks
		p.retire,            // end the management by a former manager
		p.dropDependencies,  // let what the component no longer depends on be deleted
		p.markReady,
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

// acknowledge notes a new component in the status. The next write persists that: either the engine's before its first
// request, or the one at the end of the pass.
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
	// A component without a record must not count as observed before its dependents are found. So the next pass notices
	// the loss as well. If the predecessor has recorded it, settleInherited still needs the recorded generation.
	awaited := p.record.Inherited && !p.deleting
	if !p.record.IsLost() && !awaited {
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

// checkIdentity refuses a service account that cannot exist. It does not hold back a deletion: dependents of a lost
// target can be abandoned.
func (p *pass) checkIdentity(context.Context) outcomes.Outcome {
	name, missing := strings.CutPrefix(p.identity().User, serviceAccountPrefix+":")
	if !missing || p.deleting {
		return outcomes.Proceed
	}
	return outcomes.Of(inventory.NewRefusedError(fmt.Sprintf("service account %q: a component without a namespace has no service accounts; "+
		"leave serviceAccountName in its spec and the option DefaultServiceAccount empty, "+
		"or have its type return the user %s<namespace>:<name> in GetImpersonationUser", name, serviceAccountPrefix)))
}

// load loads the references of the spec, and computes the digest of the declaration. Recorded digests do not help to
// guess the content of a Secret; see secretUIDs.
func (p *pass) load(ctx context.Context) outcomes.Outcome {
	l := &loading{
		walker: p.worker.walker, source: p.worker.referenced, key: p.key, spec: specOf(p.component), deleting: p.deleting,
		needed:        len(p.worker.hooks.postRead)+len(p.worker.hooks.preDelete)+len(p.worker.hooks.postDelete) > 0,
		targetUnknown: hasForeignTarget(p.component),
		extension: func(ctx context.Context, value any) (string, error) {
			return p.worker.extension(ctx, value, p.component)
		},
		objects: p.worker.objects, needs: p.watched(),
	}
	var err error
	p.declared, err = l.load(ctx)
	switch {
	case err != nil:
		return outcomes.Of(err)
	case p.deleting:
		return outcomes.Proceed
	case len(p.declared.Missing) > 0:
		return outcomes.Retry(awaiting(p.declared.Missing), outcomes.MissingDelay)
	}
	input := digestInput{
		Generation:  p.component.GetGeneration(),
		Annotations: ownAnnotations(p.component, p.worker.name),
		Spec:        l.spec,
		References:  l.digests,
		Generator:   generation.Fingerprint(p.worker.generator),
	}
	plain, err := manifest.Digest(input)
	if err != nil {
		return outcomes.Of(err)
	}
	p.declared.Digest = newDigest(plain, l.uids)
	if p.worker.rollout != nil {
		input.Generator = ""
		plain, err = manifest.Digest(input)
		p.declared.Own = newDigest(plain, l.uids).Value
	}
	return outcomes.Of(err)
}

// withoutRevision lists the annotations that do not affect the generated objects.
var withoutRevision = []string{
	types.AnnotationKeySuffixDisableEvents, types.AnnotationKeySuffixAbandonTarget, types.AnnotationKeySuffixOrphanDependents,
	types.AnnotationKeySuffixDeletionHooksChecksum, types.AnnotationKeySuffixApproveDeletions, types.AnnotationKeySuffixDeletionApproved,
	types.AnnotationKeySuffixReconcileAt, types.AnnotationKeySuffixIgnoreNeededBy,
}

// ownAnnotations returns the annotations with the reconciler's prefix, except those that do not affect dependents.
// Other annotations must not cause a revision.
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
	digest.recognize(&p.memory.declared, &p.status.ProcessingDigest, &p.status.LastProcessingDigest)
	p.settleInherited()
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
	return p.runHooks(generating.ReconcilerName.With(ctx, p.worker.name), "post-read", p.worker.hooks.postRead)
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
		// It is no longer known which cluster the dependents are in.
		lost = errors.New(outcomes.Join(p.declared.Missing, "; "))
	}
	return p.destination.Connect(ctx, lost)
}

// visitFormer takes a place for a cluster that dependents leave.
func (p *pass) visitFormer(context.Context) outcomes.Outcome {
	target := p.destination.Target()
	if target == nil || !clients.IsRemote(target.ID) {
		return outcomes.Proceed
	}
	return p.stay.Visit(target.ID)
}

// isOrphaned reports whether the component is being deleted and its dependents must be orphaned.
func isOrphaned(object client.Object) bool {
	return object.GetDeletionTimestamp() != nil && slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

// settleInherited keeps the revision of a component that the predecessor has processed, if the component has not
// changed since. Changes of references or of the generator are applied without a new revision. The predecessor computes
// digests differently, so they cannot be compared with ours; that alone must not run the upgrade hooks of charts again.
func (p *pass) settleInherited() {
	if !p.record.Inherited {
		return
	}
	p.record.Inherited = false
	status := p.status
	isProcessed := status.LastProcessingDigest == status.ProcessingDigest || status.LastProcessingDigest == "" && status.LastAppliedAt != nil
	if isProcessed && status.ObservedGeneration == p.component.GetGeneration() {
		status.ProcessingDigest = p.declared.Digest.Value
		status.LastProcessingDigest = p.declared.Digest.Value
	}
	if !p.record.IsLost() {
		status.ObservedGeneration = p.component.GetGeneration()
	}
}
