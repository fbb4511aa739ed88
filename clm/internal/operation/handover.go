// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// HandoverRequest names objects of a release.
type HandoverRequest struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// Objects as KIND[.GROUP]/[NAMESPACE/]NAME.
	Objects []string
	// Approved identifies the deletions that the user has approved.
	Approved string
	// All objects are meant instead of Objects. Only PlanOrphaning knows this.
	All bool
}

// PlanAdoption plans to apply the current revision such that the release adopts the objects, which the revision must
// render, even if they have another owner. The caller closes the plan.
func PlanAdoption(ctx context.Context, c *runner.Connection, request HandoverRequest) (*Plan, error) {
	plan, err := Current(ctx, c, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	plan.Operation, plan.approved = Adopt, request.Approved
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
	// Only the server knows whether an object of another owner exists.
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

// PlanOrphaning plans to orphan objects: a new revision does not have them, and they stay in the cluster without an
// owner. The caller closes the plan.
func PlanOrphaning(ctx context.Context, c *runner.Connection, request HandoverRequest, compare bool) (*Plan, error) {
	plan, err := Current(ctx, c, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	plan.Operation, plan.approved = Orphan, request.Approved
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
		// A later deletion of the release must not run hooks against what others own: so they are left out, too.
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

// sayWhyOrphaned replaces the reason that the engine gives: to it, the objects are those that the manifest does not
// have any more.
func sayWhyOrphaned(plan *Plan, orphaned []dependent) {
	for i := range plan.Changes {
		change := &plan.Changes[i]
		rest, isPruned := strings.CutPrefix(change.Reason, inventory.ReasonNotInManifests)
		if isPruned && change.Verb == reconciler.VerbOrphaned && findHeld(orphaned, change.Object) >= 0 {
			change.Reason = "as requested" + rest
		}
	}
}
