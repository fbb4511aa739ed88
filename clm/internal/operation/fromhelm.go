// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/helmreleases"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// HelmAdoptionRequest names a release of Helm that becomes a release of clm with the same name and namespace.
type HelmAdoptionRequest struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// Policies of the revisions, for objects without annotations.
	Policies reconciler.Policies
}

// HelmAdoption is what will happen when a release of Helm becomes a release of clm.
type HelmAdoption struct {
	// Helm is the release as Helm has recorded it.
	Helm *helmreleases.Release
	// Deployed is the revision that is installed; zero if the plan is nil.
	Deployed helmreleases.Revision
	// Skipped says which older revisions are left out, and why: they cannot be read, or clm could not apply them.
	Skipped []string
	// Programs are the field managers other than Helm's that have installed objects of the release with Helm's
	// packages, such as controllers. Fields that these have set, and that are not declared, stay.
	Programs []string
	// Plan records the revisions, and applies the one that is installed. It is nil if that was done before.
	Plan *Plan
}

// Close stops watching the dependents.
func (a *HelmAdoption) Close() {
	if a.Plan != nil {
		a.Plan.Close()
	}
}

// PlanHelmAdoption plans to make a release of Helm one of clm. The revisions of clm are those of Helm, with their
// numbers, times, values and objects; hooks count as completed. If the newest one is not the one that is installed, the
// latter is recorded once more, as the newest one. Objects that have the marks of the Helm release are adopted; those
// of other owners are refused.
//
// If such an adoption was interrupted, it is continued. The error is a RefusedError if there is another release of clm
// with the name, if an operation of Helm has not ended, or if no revision is installed. An older revision that cannot
// be read, or that clm could not apply, is left out, and Skipped names it. The caller closes the result.
func PlanHelmAdoption(ctx context.Context, c *connection.Connection, request HelmAdoptionRequest) (*HelmAdoption, error) {
	if err := c.Ready(ctx); err != nil {
		return nil, err
	}
	found, err := helmreleases.Read(ctx, c.Client(), request.Namespace, request.Name)
	if errors.Is(err, helmreleases.ErrNotFound) {
		return nil, releases.Refused("%s", err)
	}
	if err != nil {
		return nil, err
	}
	release, err := c.Records().Get(ctx, request.Namespace, request.Name)
	switch {
	case errors.Is(err, releases.ErrNotFound):
		release = &releases.Release{Namespace: request.Namespace, Name: request.Name, State: releases.StateApplying}
	case err != nil:
		return nil, err
	default:
		if err := confirmOrigin(release, found); err != nil {
			return nil, err
		}
	}
	adoption := &HelmAdoption{Helm: found}
	if isAdopted(release, found) {
		return adoption, nil
	}
	if adoption.Deployed, err = deployed(found); err != nil {
		return nil, err
	}
	for _, revision := range found.Unreadable {
		adoption.Skipped = append(adoption.Skipped, fmt.Sprintf("revision %d is left out: %s", revision.Number, revision.Reason))
	}
	history := historyOf(found, adoption.Deployed, request.Policies)
	current, err := history[len(history)-1].Content()
	if err != nil {
		return nil, err
	}
	objects, err := divide(ctx, c.Client(), found, current.Manifest)
	if err != nil {
		return nil, err
	}
	adoption.Programs = slices.DeleteFunc(objects.programs, runner.Reclaims)
	return adoption, adoption.planTakeover(ctx, c, release, history, objects)
}

// confirmOrigin returns a RefusedError unless the release of clm was made from that of Helm: of the revisions with
// numbers that both have, all have the same times, and there is at least one. Both tools may have forgotten old
// revisions.
func confirmOrigin(release *releases.Release, found *helmreleases.Release) error {
	if release.State == releases.StateDeleting {
		return releases.BeingDeleted(release)
	}
	if len(release.Revisions) == 0 && len(release.Inventory) == 0 {
		// The process has died that was about to record the first revision.
		return nil
	}
	same, different := 0, ""
	for _, recorded := range release.Revisions {
		for _, revision := range found.Revisions {
			switch {
			case recorded.Number != revision.Number:
			case revision.Created.IsZero():
				// It proves nothing.
			case revision.Created.Equal(recorded.Created):
				same++
			default:
				different = fmt.Sprintf("revision %d of Helm was made at %s, that of clm at %s", revision.Number, text(revision.Created), text(recorded.Created))
			}
		}
	}
	if same > 0 && different == "" {
		return nil
	}
	if different != "" {
		different = ": " + different
	}
	if different == "" {
		return releases.Refused("there is a release %s of clm already, which has no revision in common with the Helm release; if the release was adopted from it, delete Helm's record: "+
			"kubectl delete secrets,configmaps -l owner=helm,name=%s -n %s", release, found.Name, found.Namespace)
	}
	return releases.Refused("there is a release %s of clm already, and it was not made from the Helm release%s; nothing was changed", release, different)
}

// isAdopted reports whether a release of clm has all revisions of the Helm release from which it was made, and has been
// ready with the last one of these, or has newer ones.
func isAdopted(release *releases.Release, found *helmreleases.Release) bool {
	current, last := release.Current(), found.Last().Number
	switch {
	case current == nil || current.Number < last:
		return false
	case release.State == releases.StateReady, current.Number > last+1:
		return true
	default:
		return current.Number == last+1 && current.Description != again(found)
	}
}

// deployed returns the revision that is installed.
func deployed(found *helmreleases.Release) (helmreleases.Revision, error) {
	last := found.Last()
	switch {
	case last.Status == helmreleases.StatusPendingInstall:
		return last, releases.Refused("an installation of Helm release %s is running, or was interrupted (%s is %s). If it is not running any more: helm uninstall %s -n %s",
			found, last.Record(), last.Status, found.Name, found.Namespace)
	case last.Status == helmreleases.StatusUninstalling:
		return last, releases.Refused("Helm release %s is being uninstalled, or that was interrupted (%s is %s). If it is not running any more: helm uninstall %s -n %s",
			found, last.Record(), last.Status, found.Name, found.Namespace)
	case last.Status.Pending():
		return last, releases.Refused("an operation of Helm on release %s is running, or was interrupted (%s is %s). If it is not running any more: helm rollback %s -n %s",
			found, last.Record(), last.Status, found.Name, found.Namespace)
	case last.Status == helmreleases.StatusUninstalled:
		return last, releases.Refused("Helm release %s was uninstalled, and only its history is left, so there is nothing to adopt", found)
	}
	for i := len(found.Revisions) - 1; i >= 0; i-- {
		if revision := found.Revisions[i]; revision.Status == helmreleases.StatusDeployed {
			return revision, nil
		}
	}
	return last, releases.Refused("Helm release %s has no revision with status %s, and the newest one is %s; make one first: helm upgrade, or helm rollback",
		found, helmreleases.StatusDeployed, last.Status)
}
