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

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// HandoverRequest names objects of a release.
type HandoverRequest struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// Objects as KIND[.GROUP]/[NAMESPACE/]NAME.
	Objects []string
	// Approved identifies the deletions that the user has approved.
	Approved string
	// All selects all objects instead of Objects. Only PlanOrphaning supports it.
	All bool
}

// PlanAdoption plans to apply the current revision so that the release adopts the objects even if they have another
// owner. The revision must contain them. The caller closes the plan.
func PlanAdoption(ctx context.Context, c *runner.Connection, request HandoverRequest) (*Plan, error) {
	plan, err := Current(ctx, c, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	plan.Operation, plan.Approved = Adopt, request.Approved
	wanted, err := dependentsOf(c.Client().RESTMapper(), plan)
	if err != nil {
		return nil, err
	}
	wanted = slices.DeleteFunc(wanted, func(p dependent) bool { return p.rendered < 0 })
	found, err := runner.Resolve(c.Client(), request.Objects, wanted, runner.Scope{
		Name: "the current revision of release " + plan.Release.String(), Show: fmt.Sprintf("clm get manifest %s -n %s", request.Name, request.Namespace),
	})
	if err != nil {
		return nil, err
	}
	for _, object := range found {
		plan.TakeOver(object.Object)
	}
	// Only the server knows whether objects of other owners exist.
	if err := plan.Compare(ctx, true); err != nil {
		return nil, err
	}
	if err := confirmAdoptable(plan, found); err != nil {
		plan.Close()
		return nil, err
	}
	return plan, nil
}

// confirmAdoptable returns an error if an object that the release should adopt does not exist, or cannot be read.
func confirmAdoptable(plan *Plan, wanted []dependent) error {
	for _, change := range plan.Changes {
		adopts := findHeld(wanted, change.Object) >= 0
		switch {
		case !adopts || change.UID != "":
		case change.Refusal != "":
			return fmt.Errorf("adopting %s: %s", change.Object, change.Refusal)
		default:
			return releases.Refused("%s does not exist, so there is nothing to adopt; clm apply, or clm drift --correct, creates it", change.Object)
		}
	}
	return nil
}

// PlanOrphaning plans to orphan objects: a new revision omits them, and they stay in the cluster without an owner. The
// caller closes the plan.
func PlanOrphaning(ctx context.Context, c *runner.Connection, request HandoverRequest, compare bool) (*Plan, error) {
	plan, err := Current(ctx, c, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	plan.Operation, plan.Approved = Orphan, request.Approved
	owned, err := dependentsOf(c.Client().RESTMapper(), plan)
	if err != nil {
		return nil, err
	}
	found, description := owned, "orphaned all objects"
	if !request.All {
		found, err = runner.Resolve(c.Client(), request.Objects, owned, runner.Scope{
			Name: "release " + plan.Release.String(), Show: fmt.Sprintf("clm tree %s -n %s", request.Name, request.Namespace),
		})
		if err != nil {
			return nil, err
		}
		description = "orphaned " + objectTexts(found)
	}
	for _, object := range found {
		if object.item != nil && object.item.Phase != reconciler.PhaseCompleted {
			// This also applies if the release is deleted before the objects are orphaned.
			object.item.DeletePolicy = reconciler.DeletePolicyOrphan
		}
	}
	switch content := plan.Content; {
	case !request.All:
		err = leaveOut(plan, found, description)
	case len(content.Manifest) > 0:
		// Hooks are left out, too: a later deletion of the release must not run them against objects of others.
		content.Manifest = nil
		err = plan.Derive(content, description)
	}
	if err != nil {
		return nil, err
	}
	if err := plan.Compare(ctx, compare); err != nil {
		return plan, err
	}
	sayWhyOrphaned(plan, found)
	return plan, nil
}

// sayWhyOrphaned replaces the reason of the engine, which is that the objects are no longer in the manifests.
func sayWhyOrphaned(plan *Plan, orphaned []dependent) {
	for i := range plan.Changes {
		change := &plan.Changes[i]
		rest, isPruned := strings.CutPrefix(change.Reason, inventory.ReasonNotInManifests)
		if isPruned && change.Verb == reconciler.VerbOrphaned && findHeld(orphaned, change.Object) >= 0 {
			change.Reason = "as requested" + rest
		}
	}
}

// Lasting returns the policies to record for those given for an operation. The consent to take objects from other
// owners is valid only once: if the objects are moved afterwards, neither a rollback nor a correction takes them again.
// Records of earlier versions contain the policies as given.
func Lasting(policies reconciler.Policies) reconciler.Policies {
	if annotations.Kebab(string(policies.Adoption)) == types.AdoptionPolicyAlways {
		policies.Adoption = types.AdoptionPolicyIfUnowned
	}
	return policies
}

// SpareAdopted makes the release orphan, instead of delete, the redundant dependents that it has adopted. It returns
// their texts, sorted.
func SpareAdopted(release *releases.Release, wanted map[display.Key]bool) []string {
	var spared []string
	for _, item := range release.Inventory {
		if item.Adopted && !wanted[display.KeyOf(item)] {
			item.DeletePolicy = reconciler.DeletePolicyOrphan
			spared = append(spared, display.Text(item))
		}
	}
	slices.Sort(spared)
	return spared
}

// ConfirmLast refuses to revert a plan if another process has changed the release since, because that would revert its
// changes as well. It accepts a nil plan.
func (p *Plan) ConfirmLast(release *releases.Release) error {
	if p == nil || p.Release.SameRecord(release) {
		return nil
	}
	return releases.Refused("another client has changed release %s since revision %d failed; nothing was reverted", release, p.Revision.Number)
}

// SparedText lists the objects that stay; empty if there are none.
func SparedText(spared []string) string {
	if len(spared) == 0 {
		return ""
	}
	return "These objects existed before the release, and were kept, with its changes: " + strings.Join(spared, ", ")
}

// confirmNew returns an error if a release without a record is not new. Its record was lost, so it is unknown which
// objects are redundant and which must be applied only once. The error is a RefusedError; IsChanged is true for it if
// there is a record by now. If the user may not list Secrets, only the objects are evidence.
func confirmNew(ctx context.Context, records *releases.Store, plan *Plan) error {
	release := plan.Release
	if release.Recorded() || release.Ancestor {
		return nil
	}
	evidence := markedText(plan.Changes)
	if evidence == "" {
		parts, err := records.HasParts(ctx, release.Namespace, release.Name)
		switch {
		case apierrors.IsForbidden(err):
			return nil
		case err != nil:
			return err
		case !parts:
			return nil
		}
		evidence = "there are parts of a record"
	}
	_, err := records.Get(ctx, release.Namespace, release.Name)
	switch {
	case err == nil:
		return releases.Changed(release)
	case !errors.Is(err, releases.ErrNotFound):
		return err
	}
	return releases.Refused("there is no record of release %[1]s, but %[2]s: the record was lost. To rebuild it: clm doctor %[3]s -n %[4]s --fix. "+
		"Before that, remove the label %[5]s from objects that do not belong to the release, such as copies",
		release, evidence, release.Name, release.Namespace, releases.Label)
}

// shownMarked bounds how many objects an error names.
const shownMarked = 5

// markedText lists the objects that exist with the mark of a release but are not recorded; empty if there are none.
// Since nothing is recorded of any object, the engine would adopt objects without the mark, and update those with it.
func markedText(changes []reconciler.Change) string {
	var marked []string
	for _, change := range changes {
		if change.Verb == reconciler.VerbUpdated && change.UID != "" {
			marked = append(marked, change.Object.String())
		}
	}
	if len(marked) == 0 {
		return ""
	}
	return "its mark is on " + display.Enumerate(marked, shownMarked)
}
