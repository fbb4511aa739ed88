// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// RollbackRequest specifies the revision to return to.
type RollbackRequest struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// Number of the revision. Defaults to the newest revision before the current one that was ready.
	Number int64
	// Adoption is the policy of objects without an annotation. Defaults to the policy of the revision, but never takes
	// objects from other owners by default.
	Adoption reconciler.AdoptionPolicy
	// Conflicts decides about fields that the current revision, or the one to return to, leaves to other field
	// managers. ConflictsForce takes all of them. Otherwise the latter stay, and the former if both revisions declare
	// the same values. ConflictsKeep is not supported.
	Conflicts Conflicts
	// Approved identifies the deletions that the user has approved.
	Approved string
	// Description describes the new revision. Defaults to a text with the number of the earlier one.
	Description string
	// Failed is the failed plan that the rollback reverts; nil if there is none. It is refused if another process has
	// changed the release since.
	Failed *Plan
}

// PlanRollback plans to return to an earlier revision: to its objects, with rollback hooks instead of those for
// installations and upgrades. Objects that the revision does not have are deleted, except those that the release has
// adopted. If such a rollback has already started, the plan continues it. The caller closes the plan.
func PlanRollback(ctx context.Context, c *runner.Connection, request RollbackRequest, compare bool) (*Plan, error) {
	release, err := c.Release(ctx, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	if release.State == releases.StateDeleting {
		return nil, releases.BeingDeleted(release)
	}
	if err := request.Failed.ConfirmLast(release); err != nil {
		return nil, err
	}
	if current := release.Current(); request.Failed == nil && current != nil && !current.Rollback {
		// Whether to continue a rollback depends on its outcome, and it may just have become ready.
		if err := acknowledge(ctx, c, release); err != nil {
			return nil, err
		}
	}
	to, err := rollbackTarget(release, request.Number)
	if err != nil {
		return nil, err
	}
	plan := &Plan{connection: c, Release: release, intent: intent{
		Operation: Rollback, New: !resumes(release, request.Number), Revision: to, Adoption: request.Adoption, Approved: request.Approved,
	}}
	if err := plan.AwaitDependencies(ctx, to.DependsOn, nil); err != nil {
		return nil, err
	}
	if plan.Content, err = c.Records().Content(ctx, release, to.Number); err != nil {
		return nil, err
	}
	if plan.New {
		plan.returnTo(to.Number, cmp.Or(request.Description, fmt.Sprintf("rolled back to revision %d", to.Number)))
	}
	if err := keepAtRollback(ctx, plan, request); err != nil {
		return nil, err
	}
	wanted, err := display.Keys(c.Client().RESTMapper(), objectsOf(plan), release.Namespace)
	if err != nil {
		return nil, err
	}
	plan.spared = SpareAdopted(release, wanted)
	return plan, plan.Compare(ctx, compare)
}

// returnTo turns the revision of a plan into a new one that returns to the numbered revision.
func (p *Plan) returnTo(number int64, description string) {
	p.New = true
	p.Revision.Created, p.Revision.Chunks, p.Revision.Bytes = time.Time{}, nil, 0
	p.Revision.Number = p.Release.Current().Number + 1
	p.Revision.Description = description
	p.Revision.Installed, p.Revision.Rollback, p.Revision.Basis, p.Revision.Target = true, true, 0, number
}

// resumes reports whether the current revision is the requested rollback and has not become ready. Repeating an
// interrupted rollback must not return to the revision that it leaves.
func resumes(release *releases.Release, number int64) bool {
	current := release.Current()
	if current == nil || !current.Rollback || current.State == releases.RevisionReady {
		return false
	}
	return number == 0 || slices.ContainsFunc(release.Revisions, func(revision releases.Revision) bool {
		return revision.Number == number && (revision.Inputs == current.Inputs || current.Target == number)
	})
}

// rollbackTarget returns the revision with the number or, if that is 0, the default one.
func rollbackTarget(release *releases.Release, number int64) (releases.Revision, error) {
	current := release.Current()
	if current == nil {
		return releases.Revision{}, releases.Refused("release %s has no revisions", release)
	}
	if resumes(release, number) {
		return *current, nil
	}
	for _, revision := range slices.Backward(release.Revisions) {
		if revision.Number == number || number == 0 && revision.State == releases.RevisionSuperseded {
			return revision, nil
		}
	}
	if number == 0 {
		return releases.Revision{}, releases.Refused("release %s has no earlier revision that was ready; to list its revisions: clm history %s -n %s",
			release, release.Name, release.Namespace)
	}
	return releases.Revision{}, releases.Refused("release %s has no revision %d; to list its revisions: clm history %s -n %s", release, number, release.Name, release.Namespace)
}

// objectsOf returns the objects that are applied with the revision of a plan. At a rollback, Helm runs neither
// installation nor upgrade hooks: existing ones stay as they are, and others are not created. Failed ones are deleted,
// because the release would never be ready with them.
func objectsOf(plan *Plan) []client.Object {
	var wanted []*unstructured.Unstructured
	for _, object := range plan.Content.Manifest {
		if !plan.Applies(object) {
			continue
		}
		if plan.Revision.Rollback && isHelmHook(object) {
			object = annotated(object, map[string]string{reconcilePolicyKey: types.ReconcilePolicyOnce})
		}
		wanted = append(wanted, object)
	}
	if plan.Revision.Rollback {
		for _, when := range []string{types.ReleaseHookPreRollback, types.ReleaseHookPostRollback} {
			wanted = append(wanted, ManifestHooks(plan.Content.Manifest, when)...)
		}
	}
	return ManifestObjects(wanted)
}

// annotated returns a copy of an object with further annotations, if there are any.
func annotated(object *unstructured.Unstructured, further map[string]string) *unstructured.Unstructured {
	object = object.DeepCopy()
	if len(further) == 0 {
		return object
	}
	values := object.GetAnnotations()
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, further)
	object.SetAnnotations(values)
	return object
}

// Applies reports whether an object of the manifest is applied with the revision of a plan, perhaps with other
// annotations.
func (p *Plan) Applies(object *unstructured.Unstructured) bool {
	return IsRegular(object) && (!p.Revision.Rollback || !isHelmHook(object) || leftBehind(p.Release.Inventory, p.Release.Namespace, object))
}

const (
	helmHookKey        = "helm.sh/hook"
	reconcilePolicyKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixReconcilePolicy
)

// isHelmHook reports whether Helm applies an object only as a hook. It always applies definitions in the crds folder of
// a chart, regardless of their annotations.
func isHelmHook(object *unstructured.Unstructured) bool {
	return object.GetAnnotations()[helmHookKey] != "" && object.GetKind() != "CustomResourceDefinition"
}

// isDone reports whether a dependent is ready or has completed.
func isDone(item *reconciler.InventoryItem) bool {
	return item.Phase == reconciler.PhaseReady || item.Phase == reconciler.PhaseCompleted
}

// leftBehind reports whether an object of a manifest, which may lack the namespace, is in the inventory, and ready or
// completed.
func leftBehind(inventory []*reconciler.InventoryItem, namespace string, object client.Object) bool {
	gvk := object.GetObjectKind().GroupVersionKind()
	return slices.ContainsFunc(inventory, func(item *reconciler.InventoryItem) bool {
		return isDone(item) && item.Group == gvk.Group && item.Kind == gvk.Kind && item.Name == object.GetName() &&
			(item.Namespace == "" || item.Namespace == cmp.Or(object.GetNamespace(), namespace))
	})
}

// PlanCurrent plans to apply the current revision again from its record, without its sources. With compare, the plan
// also contains the differences of dependents whose drift is left alone. The caller closes the plan.
func PlanCurrent(ctx context.Context, c *runner.Connection, namespace, name string, compare bool) (*Plan, error) {
	plan, err := Current(ctx, c, namespace, name)
	if err != nil {
		return nil, err
	}
	plan.Operation = Heal
	return plan, plan.Compare(ctx, compare)
}

// Current starts a plan from the record of the current revision; Compare completes it. The error is a RefusedError if
// there is no such revision.
func Current(ctx context.Context, c *runner.Connection, namespace, name string) (*Plan, error) {
	release, err := c.Release(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	current := release.Current()
	switch {
	case release.State == releases.StateDeleting:
		return nil, releases.BeingDeleted(release)
	case release.Ancestor:
		return nil, releases.Refused("release %s was created by an earlier version of clm, which did not record what it applied; to record it: clm apply %s SOURCE... -n %s",
			release, name, namespace)
	case current == nil:
		return nil, releases.Refused("release %s has no revisions; to create one: clm apply %s SOURCE... -n %s", release, name, namespace)
	}
	content, err := c.Records().Content(ctx, release, current.Number)
	if err != nil {
		return nil, err
	}
	return &Plan{connection: c, Release: release, Content: content, intent: intent{Revision: *current}}, nil
}

// Derive turns the revision of a plan into a new one, whose manifest differs from the current one only by moved or
// orphaned objects.
func (p *Plan) Derive(content releases.Content, description string) error {
	current := p.Revision
	p.New, p.Content = true, content
	p.Revision.Number, p.Revision.Basis = current.Number+1, cmp.Or(current.Basis, current.Number)
	p.Revision.Description, p.Revision.Objects = description, len(content.Manifest)
	p.Revision.Created, p.Revision.Target = time.Time{}, 0
	p.Revision.Chunks, p.Revision.Bytes = nil, 0
	var err error
	p.Revision.Inputs, err = inputs(content, p.Revision)
	return err
}

// makeRoom calls add, which records a further revision. Usually revisions are pruned at the end of the operation, so
// that none is lost if it fails to begin. If the index has no room for a further revision, they are pruned in the same
// write. A rollback to a pruned revision can then be continued only without its number.
func (o Options) makeRoom(release *releases.Release, add func(release *releases.Release) error) error {
	err := add(release)
	if !errors.Is(err, releases.ErrFull) {
		return err
	}
	fewer := release.Clone()
	if o.HistoryMax > 0 {
		o.HistoryMax = max(o.HistoryMax-1, 1)
	}
	fewer.Prune(o.HistoryMax, o.HistoryMaxBytes)
	if len(fewer.Revisions) == len(release.Revisions) {
		return err
	}
	if err := add(fewer); err != nil {
		return err
	}
	*release = *fewer
	return nil
}
