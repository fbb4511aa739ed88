// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// HelmRelease is a release of Helm.
type HelmRelease struct {
	*helm.InstalledRelease

	// Deployed is the installed revision.
	Deployed releases.Revision
	// Programs are the field managers other than Helm's that have installed objects of the release with Helm's
	// packages, such as controllers. Undeclared fields that these have set stay. Empty until the adoption is planned.
	Programs []string
}

// readHelm reads a release of Helm. The error is a RefusedError if it cannot be adopted.
func readHelm(ctx context.Context, clnt client.Reader, namespace, name string) (*HelmRelease, error) {
	release, err := helm.ReadRelease(ctx, clnt, namespace, name)
	if refused, ok := errors.AsType[*helm.RefusedReleaseError](err); ok {
		return nil, releases.Refused("%s", refused.Reason)
	}
	if err != nil {
		return nil, err
	}
	return &HelmRelease{InstalledRelease: release, Deployed: releases.Revision{
		Number: release.Number, Created: release.Created, Description: "Helm: " + release.Description, Installed: release.Number > 1,
		Sources: []releases.Source{{
			Reference: release.ChartName, Kind: sources.Chart, Name: release.ChartName, Version: release.ChartVersion, AppVersion: release.AppVersion,
		}},
	}}, nil
}

// PlanHelmAdoption plans to turn a Helm release into a clm release with the same name and namespace, and with policies
// for objects without annotations. Its first revision is the installed one, with the number, time, values and objects
// that Helm has recorded; hooks count as completed. Objects with the marks of the Helm release are adopted; objects of
// other owners are refused.
//
// If such an adoption was interrupted, it is continued; if it was completed before, there is no plan. The error is a
// RefusedError if there is another release of clm with the name, or if there is nothing to adopt. The caller closes the
// plan.
func PlanHelmAdoption(ctx context.Context, c *runner.Connection, namespace, name string, policies reconciler.Policies) (*HelmRelease, *Plan, error) {
	release, err := find(ctx, c, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	helms, err := readHelm(ctx, c.Client(), namespace, name)
	if err != nil {
		return nil, nil, err
	}
	deployed, current := helms.Deployed, release.Current()
	isKnown := slices.ContainsFunc(release.Revisions, func(revision releases.Revision) bool {
		return revision.Number == deployed.Number && revision.Created.Equal(deployed.Created)
	})
	switch {
	// A recorded release with neither revisions nor dependents is from a process that died before it recorded the first
	// revision.
	case !isKnown && (current != nil || len(release.Inventory) > 0):
		return nil, nil, releases.Refused("there is a release %s of clm already, and it was not made from revision %d of the Helm release; nothing was changed. "+
			"If it was made from an earlier one, delete Helm's record: kubectl delete secrets,configmaps -l owner=helm,name=%s -n %s",
			release, deployed.Number, release.Name, release.Namespace)
	case isKnown && (current.Number > deployed.Number || release.State == releases.StateReady):
		return helms, nil, nil
	}
	plan, err := helms.adoption(ctx, c, release, policies)
	return helms, plan, err
}

// adoption plans to record the installed revision, and to apply it.
func (r *HelmRelease) adoption(ctx context.Context, c *runner.Connection, release *releases.Release, policies reconciler.Policies) (*Plan, error) {
	current := release.Current()
	plan := &Plan{connection: c, Release: release, intent: intent{Operation: Adopt, New: current == nil}, confirm: func(ctx context.Context) error {
		err := r.Confirm(ctx, c.Client())
		if errors.Is(err, helm.ErrReleaseChanged) {
			return releases.Changed(release)
		}
		return err
	}}
	var err error
	if plan.Content, err = r.content(); err != nil {
		return nil, err
	}
	if err := checkManifest(release, plan.Content.Manifest, c.Client().Scheme()); err != nil {
		return nil, err
	}
	if current != nil {
		plan.Revision = *current
	} else {
		plan.Revision = r.Deployed
		plan.Revision.Policies, plan.Revision.Objects, plan.Revision.Inputs = policies, len(plan.Content.Manifest), unordered
		if plan.Revision.Inputs, err = inputs(plan.Content, plan.Revision); err != nil {
			return nil, err
		}
	}
	if err := r.choose(ctx, plan); err != nil {
		return nil, err
	}
	if err = plan.Compare(ctx, true); err == nil {
		err = confirmNew(ctx, c.Records(), plan)
	}
	if err != nil {
		plan.Close()
		return nil, err
	}
	return plan, nil
}

// content returns the content of the installed revision, with Helm's annotations converted.
func (r *HelmRelease) content() (releases.Content, error) {
	number := r.Deployed.Number
	mapper := gitops.HelmMapper{Prefix: releases.ReconcilerName + "/", Revision: number, Installed: r.Deployed.Installed, ReleaseHooks: true}
	content := releases.Content{Values: r.Values, Notes: r.Notes}
	for _, object := range r.Objects {
		variants, err := mapper.Map(object, object.GroupVersionKind().GroupKind(), object.Definition)
		if err != nil {
			return content, fmt.Errorf("revision %d of Helm release %s: %s (%s): %w", number, r, display.Text(object), object.Source, err)
		}
		for _, missing := range variants {
			content.Manifest = append(content.Manifest, annotated(object.Unstructured, missing))
		}
	}
	// Helm has applied versioned objects with the names that they were rendered with.
	content.Manifest = sources.Rules{Prefix: mapper.Prefix}.Without(content.Manifest)
	return content, nil
}

// readsAtOnce limits how many objects are read at the same time.
const readsAtOnce = 8

// choose reads the objects of the revision. Objects with the marks of the Helm release and of no other owner are
// adopted, hooks count as completed, and all others are applied as usual.
func (r *HelmRelease) choose(ctx context.Context, plan *Plan) error {
	clnt := plan.connection.Client()
	var placed []display.Object
	for _, object := range plan.Content.Manifest {
		if !IsRegular(object) {
			continue
		}
		namespace, err := display.Namespace(clnt.RESTMapper(), object, r.Namespace)
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
	err := concurrent.Each(readsAtOnce, placed, func(i int, object display.Object) error {
		found[i] = &metav1.PartialObjectMetadata{}
		found[i].SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		err := clnt.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.Name}, found[i])
		if err != nil && !apierrors.IsNotFound(err) && !cluster.IsNoMatch(err) {
			return fmt.Errorf("reading %s: %w", object, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, object := range placed {
		if r.Owns(found[i], "") {
			plan.TakeOver(object)
			r.Programs = append(r.Programs, programsOf(found[i])...)
		}
	}
	slices.Sort(r.Programs)
	r.Programs = slices.DeleteFunc(slices.Compact(r.Programs), runner.Reclaims)
	return nil
}

// programsOf returns the field managers that have set the marks of an object: helm, or another program that contains
// Helm's packages, such as a controller.
func programsOf(object metav1.Object) []string {
	var programs []string
	for _, entry := range object.GetManagedFields() {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:`+helm.NameKey+`"`) {
			programs = append(programs, entry.Manager)
		}
	}
	return programs
}

// noteDone notes in the inventory of a release that an object has completed, whatever its manifest: Helm has already
// run it.
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
