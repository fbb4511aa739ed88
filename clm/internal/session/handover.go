// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// PlanAdoption finds out what has to be done to have the current revision in such a way that the objects, which it renders, belong to the
// release, whoever owns them now. Objects are given as KIND[.GROUP]/[NAMESPACE/]NAME. The plan is to be closed.
func (s *Session) PlanAdoption(ctx context.Context, namespace, name string, objects []string) (*Plan, error) {
	plan, err := s.current(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	plan.Operation = Adopt
	plan.objects = objectsOf(plan)
	wanted, err := s.possessions(plan)
	if err != nil {
		return nil, err
	}
	wanted = slices.DeleteFunc(wanted, func(p possession) bool { return p.rendered < 0 })
	found, err := s.resolve(objects, wanted, scope{"the current revision of release " + plan.Release.String(), fmt.Sprintf("clm get manifest %s -n %s", name, namespace)})
	if err != nil {
		return nil, err
	}
	for _, object := range found {
		plan.takeOver = append(plan.takeOver, object.ObjectInfo)
	}
	// Whether an object exists that is not ours, only the server knows.
	if err := s.compare(ctx, plan, true); err != nil {
		return nil, err
	}
	if err := plan.confirmAdoptable(); err != nil {
		plan.Close()
		return nil, err
	}
	return plan, nil
}

// confirmAdoptable says which of the objects that are to be taken over do not exist, or cannot be looked at.
func (p *Plan) confirmAdoptable() error {
	for _, change := range p.Changes {
		adopts := slices.ContainsFunc(p.takeOver, func(object types.ObjectKey) bool { return keyOf(object) == keyOf(change.Object) })
		switch {
		case !adopts || change.UID != "":
		case change.Refusal != "":
			return fmt.Errorf("adopting %s: %s", change.Object, change.Refusal)
		default:
			return refused("%s does not exist, so that there is nothing to adopt; clm apply, or clm drift --heal, creates it", change.Object)
		}
	}
	return nil
}

// PlanOrphaning finds out what has to be done to let go of objects: a new revision does not have them, and they stay in the cluster without
// an owner. Objects are given as KIND[.GROUP]/[NAMESPACE/]NAME. The plan is to be closed.
func (s *Session) PlanOrphaning(ctx context.Context, namespace, name string, objects []string, compare bool) (*Plan, error) {
	plan, err := s.current(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	plan.Operation = Orphan
	owned, err := s.possessions(plan)
	if err != nil {
		return nil, err
	}
	found, err := s.resolve(objects, owned, scope{"release " + plan.Release.String(), fmt.Sprintf("clm tree %s -n %s", name, namespace)})
	if err != nil {
		return nil, err
	}
	for _, object := range found {
		if object.item != nil {
			// It counts for the deletion of the release as well, if that comes before the objects were let go of.
			object.item.DeletePolicy = reconciler.DeletePolicyOrphan
		}
	}
	if err := plan.leaveOut(found, "let go of "+objectTexts(found)); err != nil {
		return nil, err
	}
	plan.objects = objectsOf(plan)
	return plan, s.compare(ctx, plan, compare)
}

// leaveOut makes the revision of a plan one that does not have the objects. If it has none of them, it stays as it is.
func (p *Plan) leaveOut(objects []possession, description string) error {
	out := map[int]bool{}
	for _, object := range objects {
		if object.rendered >= 0 {
			out[object.rendered] = true
		}
	}
	if len(out) == 0 {
		return nil
	}
	content := releases.Content{Values: p.Content.Values}
	for i, object := range p.Content.Manifest {
		if !out[i] {
			content.Manifest = append(content.Manifest, object)
		}
	}
	return p.derive(content, description)
}
