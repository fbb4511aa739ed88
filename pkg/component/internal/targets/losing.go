// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/component/internal/records"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// loseTarget decides what happens to a component whose dependents are unreachable while it is being deleted or they
// move.
func (d *Destination) loseTarget(reason error) outcomes.Outcome {
	left, gap, awaited := d.leftBehind(), d.record.Gap(), d.hooks.Awaited()
	switch {
	case len(left) == 0 && gap == "" && !awaited:
		// Nothing was ever deployed, so nothing can remain.
		d.handle.Log.Info("the cluster of the dependents is unreachable, but there are no dependents", "reason", reason.Error())
		return outcomes.Proceed
	case d.isGivenUp():
		d.abandon(reason)
		return outcomes.Proceed
	}
	content := outcomes.Dependents(len(left))
	if gap != "" {
		content = "unknown dependents, because " + gap + ","
	}
	if awaited {
		content += ", and with unfinished deletion hooks,"
	}
	return outcomes.Retry(fmt.Sprintf("the cluster with %s cannot be reached: %s; restore access, or set the annotation %s to \"true\" to abandon the dependents",
		content, reason, d.abandonAnnotation()), outcomes.MissingDelay)
}

func (d *Destination) abandonAnnotation() string {
	return d.handle.Reconciler + "/" + types.AnnotationKeySuffixAbandonTarget
}

// isGivenUp reports whether the user has allowed to abandon unreachable dependents.
func (d *Destination) isGivenUp() bool {
	return d.handle.Annotation(types.AnnotationKeySuffixAbandonTarget) == "true"
}

// abandon gives up the dependents, and reports which ones remain.
func (d *Destination) abandon(reason error) {
	d.target, d.abandoned = nil, true
	left := d.leftBehind()
	names := make([]string, len(left))
	for i, item := range left {
		names[i] = outcomes.Name(item)
	}
	slices.Sort(names)
	d.handle.Log.Info("dependents are abandoned", "reason", reason.Error(), "dependents", names)
	d.handle.Warn("Abandoned", fmt.Sprintf("%s abandoned: %s", outcomes.Dependents(len(names)), outcomes.Join(names, ", ")))
	if d.hooks.Awaited() {
		d.handle.Warn("HooksSkipped", "unfinished deletion hooks are skipped, because the cluster of the dependents is abandoned")
	}
}

// Unreachable handles an error of the engine while dependents are deleted. If the error means that the target is
// unreachable, the target may be abandoned.
func (d *Destination) Unreachable(ctx context.Context, err error) outcomes.Outcome {
	o := outcomes.Of(err)
	switch {
	case apiserver.IsAdmission(err):
		o.Message += fmt.Sprintf("; allow it, or set the annotation %s to \"true\" to orphan all dependents instead of deleting them",
			d.handle.Reconciler+"/"+types.AnnotationKeySuffixOrphanDependents)
	case err == nil || !d.isOutOfReach(ctx, err):
	case d.isGivenUp():
		d.abandon(err)
		return outcomes.Proceed
	case apierrors.IsForbidden(err):
		o.Message += fmt.Sprintf("; grant the permission, or set the annotation %s to \"true\" to abandon the dependents", d.abandonAnnotation())
	}
	return o
}

// Held returns the outcome of a step that does nothing before a user has approved deletions, unless the user has
// allowed to abandon the dependents, and they could not be deleted anyway: the server is asked what would become of the
// deletion of one of them.
func (d *Destination) Held(ctx context.Context, held *reconciler.HeldDeletions, o outcomes.Outcome) outcomes.Outcome {
	if !d.isGivenUp() || d.target == nil {
		return o
	}
	if err := d.rehearseDeletion(ctx, held.Objects[0]); err != nil && d.isOutOfReach(ctx, err) {
		return d.Unreachable(ctx, err)
	}
	return o
}

// rehearseDeletion asks the server to delete an object in a dry run.
func (d *Destination) rehearseDeletion(ctx context.Context, of reconciler.ObjectInfo) error {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	object.SetGroupVersionKind(of.GetObjectKind().GroupVersionKind())
	return d.target.Client.Delete(ctx, object, client.DryRunAll)
}

// isOutOfReach reports whether an error of the engine means that another cluster does not answer, or that a permission
// is missing. A failure to read the component, or to write its status, says nothing about that cluster.
func (d *Destination) isOutOfReach(ctx context.Context, err error) bool {
	var status apierrors.APIStatus
	var refused *reconciler.RefusedError
	var fenced *reconciler.FencedError
	switch {
	case errors.As(err, &fenced), ctx.Err() != nil || d.record.Unsaved() || errors.As(err, &refused):
		return false
	case apierrors.IsForbidden(err):
		return true
	case !d.IsRemote() && !d.wasRemote() && !d.held:
		return false
	case apierrors.IsUnauthorized(err):
		return true
	default:
		return !errors.As(err, &status)
	}
}

// wasRemote reports whether the dependents are in another cluster, and move.
func (d *Destination) wasRemote() bool {
	return d.next != nil && d.cluster.UID != LocalCluster
}

// CheckUnlisted blocks the deletion while there may be unrecorded dependents.
func (d *Destination) CheckUnlisted() outcomes.Outcome {
	unlisted := d.record.Unlisted()
	if len(unlisted) == 0 || d.abandoned {
		return outcomes.Proceed
	}
	kinds := records.KindTexts(unlisted)
	if !d.isGivenUp() {
		advice := "; grant the operator permission to list these kinds, or set the annotation %s to \"true\" to abandon the dependents"
		return outcomes.Retry(fmt.Sprintf("there may be dependents left"+advice, d.abandonAnnotation()), outcomes.MissingDelay)
	}
	d.abandoned = true
	d.handle.Log.Info("dependents may be abandoned", "kinds", kinds)
	d.handle.Warn("Abandoned", "dependents of these kinds may be abandoned, because they cannot be listed: "+kinds)
	return outcomes.Proceed
}
