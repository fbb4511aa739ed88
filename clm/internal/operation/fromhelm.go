// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// HelmAdoptionRequest names a release of Helm that becomes a release of clm with the same name and namespace.
type HelmAdoptionRequest struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// Policies of the revision, for objects without annotations.
	Policies reconciler.Policies
}

// HelmAdoption is what will happen when a release of Helm becomes a release of clm.
type HelmAdoption struct {
	// Helm is the release as Helm has recorded it.
	Helm *HelmRelease
	// Programs are the field managers other than Helm's that have installed objects of the release with Helm's
	// packages, such as controllers. Fields that these have set, and that are not declared, stay.
	Programs []string
	// Plan records the revision that is installed, and applies it. It is nil if that was done before.
	Plan *Plan
}

// Close stops watching the dependents.
func (a *HelmAdoption) Close() {
	if a.Plan != nil {
		a.Plan.Close()
	}
}

// PlanHelmAdoption plans to make a release of Helm one of clm. Its first revision is the one that is installed, with
// the number, time, values and objects that Helm has recorded; hooks count as completed. Objects that have the marks of
// the Helm release are adopted; those of other owners are refused.
//
// If such an adoption was interrupted, it is continued. The error is a RefusedError if there is another release of clm
// with the name, or if there is nothing to adopt. The caller closes the result.
func PlanHelmAdoption(ctx context.Context, c *runner.Connection, request HelmAdoptionRequest) (*HelmAdoption, error) {
	release, err := find(ctx, c, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	a := &HelmAdoption{}
	if a.Helm, err = readHelm(ctx, c.Client(), request.Namespace, request.Name); err != nil {
		return nil, err
	}
	deployed, current := a.Helm.Deployed, release.Current()
	isKnown := slices.ContainsFunc(release.Revisions, func(revision releases.Revision) bool {
		return revision.Number == deployed.Number && revision.Created.Equal(deployed.Created)
	})
	switch {
	// Without revisions, the process has died that was about to record the first one.
	case !isKnown && (current != nil || len(release.Inventory) > 0):
		return nil, releases.Refused("there is a release %s of clm already, and it was not made from revision %d of the Helm release; nothing was changed. "+
			"If it was made from an earlier one, delete Helm's record: kubectl delete secrets,configmaps -l owner=helm,name=%s -n %s",
			release, deployed.Number, release.Name, release.Namespace)
	case isKnown && (current.Number > deployed.Number || release.State == releases.StateReady):
		return a, nil
	}
	return a, a.plan(ctx, c, release, request.Policies)
}

func (a *HelmAdoption) plan(ctx context.Context, c *runner.Connection, release *releases.Release, policies reconciler.Policies) error {
	deployed, current := a.Helm.Deployed, release.Current()
	plan := &Plan{connection: c, Release: release, Operation: Adopt, New: current == nil, confirm: func(ctx context.Context) error {
		err := a.Helm.confirm(ctx, c.Client())
		if errors.Is(err, ErrHelmChanged) {
			return &releases.ChangedError{Release: release.String()}
		}
		return err
	}}
	var err error
	if plan.Content, err = a.Helm.content(); err != nil {
		return err
	}
	if err := checkReserved(release, plan.Content.Manifest); err != nil {
		return err
	}
	if err := checkHooks(plan.Content.Manifest, c.Client().Scheme()); err != nil {
		return err
	}
	if current != nil {
		plan.Revision = *current
	} else {
		plan.Revision = releases.Revision{
			Number: deployed.Number, Created: deployed.Created, Description: "Helm: " + deployed.Description, Installed: deployed.Number > 1, Policies: policies,
			Sources: []releases.Source{{Reference: deployed.Chart, Kind: string(sources.Chart), Name: deployed.Chart, Version: deployed.Version, AppVersion: deployed.AppVersion}},
			Objects: len(plan.Content.Manifest), Inputs: unordered,
		}
		if plan.Revision.Inputs, err = inputs(plan.Content, plan.Revision); err != nil {
			return err
		}
	}
	if err := a.choose(ctx, plan); err != nil {
		return err
	}
	if err := plan.Compare(ctx, true); err != nil {
		return err
	}
	if err := confirmNew(ctx, c.Records(), plan); err != nil {
		plan.Close()
		return err
	}
	a.Plan = plan
	return nil
}

// content returns what the installed revision consists of, with the annotations that Helm's ones become.
func (r *HelmRelease) content() (releases.Content, error) {
	number := r.Deployed.Number
	mapper := gitops.HelmMapper{Prefix: releases.ReconcilerName + "/", Revision: number, Installed: number > 1, ReleaseHooks: true}
	content := releases.Content{Values: r.Deployed.values, Notes: r.Deployed.notes}
	for _, object := range r.Deployed.objects {
		variants, err := mapper.Map(object, object.GroupVersionKind().GroupKind(), object.Definition)
		if err != nil {
			return content, fmt.Errorf("revision %d of Helm release %s: %s (%s): %w", number, r, display.Text(object), object.Source, err)
		}
		for _, missing := range variants {
			each := object.DeepCopy()
			if len(missing) > 0 {
				annotations := each.GetAnnotations()
				if annotations == nil {
					annotations = map[string]string{}
				}
				maps.Copy(annotations, missing)
				each.SetAnnotations(annotations)
			}
			content.Manifest = append(content.Manifest, each)
		}
	}
	// Helm has applied versioned objects with the names that they were rendered with.
	content.Manifest = sources.Rules{Prefix: mapper.Prefix}.Without(content.Manifest)
	return content, nil
}

// readsAtOnce limits how many objects are read at the same time.
const readsAtOnce = 8

// choose reads the objects of the revision. Those that have the marks of the Helm release, and of no other owner, are
// adopted; hooks count as completed; and all others are applied as always.
func (a *HelmAdoption) choose(ctx context.Context, plan *Plan) error {
	clnt := plan.connection.Client()
	var placed []display.Object
	for _, object := range plan.Content.Manifest {
		if !IsRegular(object) {
			continue
		}
		namespace, err := display.Namespace(clnt.RESTMapper(), object, a.Helm.Namespace)
		if err != nil {
			return err
		}
		each := display.ObjectOf(object)
		each.Namespace = namespace
		if gitops.HasHelmHook(object.GetAnnotations()) {
			noteDone(plan.Release, each)
			continue
		}
		placed = append(placed, each)
	}
	found := make([]*metav1.PartialObjectMetadata, len(placed))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, object := range placed {
		group.Go(func() error {
			found[i] = &metav1.PartialObjectMetadata{}
			found[i].SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
			err := clnt.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.Name}, found[i])
			if err != nil && !apierrors.IsNotFound(err) && !cluster.IsNoMatch(err) {
				return fmt.Errorf("reading %s: %w", object, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, object := range placed {
		if a.Helm.owns(found[i]) {
			plan.TakeOver(object)
			a.Programs = append(a.Programs, programsOf(found[i])...)
		}
	}
	slices.Sort(a.Programs)
	a.Programs = slices.DeleteFunc(slices.Compact(a.Programs), runner.Reclaims)
	return nil
}

// The annotations by which Helm knows that an object belongs to a release.
const (
	helmNameKey      = "meta.helm.sh/release-name"
	helmNamespaceKey = "meta.helm.sh/release-namespace"
)

// owns reports whether an object has the marks of the release and of no other owner.
func (r *HelmRelease) owns(object metav1.Object) bool {
	values := object.GetAnnotations()
	if values[helmNameKey] != r.Name || values[helmNamespaceKey] != r.Namespace || metav1.GetControllerOfNoCopy(object) != nil {
		return false
	}
	for _, marks := range []map[string]string{object.GetLabels(), values} {
		for key := range marks {
			if strings.HasSuffix(key, "/"+types.LabelKeySuffixOwnerId) || strings.HasSuffix(key, "/"+types.AnnotationKeySuffixOwnerId) {
				return false
			}
		}
	}
	return true
}

// programsOf returns the field managers that have set the marks of an object: helm, or another program that contains
// Helm's packages, such as a controller.
func programsOf(object metav1.Object) []string {
	var programs []string
	for _, entry := range object.GetManagedFields() {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:`+helmNameKey+`"`) {
			programs = append(programs, entry.Manager)
		}
	}
	return programs
}

// noteDone notes in the inventory of a release that an object has completed, whatever its present manifest is: Helm has
// run it with that.
func noteDone(release *releases.Release, object types.ObjectKey) {
	at := slices.IndexFunc(release.Inventory, func(item *reconciler.InventoryItem) bool { return item.Matches(object) })
	if at < 0 {
		item := &reconciler.InventoryItem{Phase: reconciler.PhaseCompleted}
		item.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		item.Namespace, item.Name = object.GetNamespace(), object.GetName()
		at, release.Inventory = len(release.Inventory), append(release.Inventory, item)
	}
	if item := release.Inventory[at]; item.Phase == reconciler.PhaseCompleted {
		item.Digest = display.DigestTakenOver
	}
}
