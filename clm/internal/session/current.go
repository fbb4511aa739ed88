// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"time"

	"github.com/component-operator/runtime/clm/internal/releases"
)

// PlanCurrent finds out what has to be done to have the current revision as it was applied, without its sources. With compare, it is also
// found out how dependents differ whose drift is left alone. The plan is to be closed.
func (s *Session) PlanCurrent(ctx context.Context, namespace, name string, compare bool) (*Plan, error) {
	plan, err := s.current(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	plan.Operation = Heal
	plan.objects = objectsOf(plan)
	return plan, s.compare(ctx, plan, compare)
}

// current begins a plan with what is recorded of the current revision.
func (s *Session) current(ctx context.Context, namespace, name string) (*Plan, error) {
	release, err := s.Release(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	current := release.Current()
	switch {
	case release.State == releases.StateDeleting:
		return nil, beingDeleted(release)
	case release.Ancestor:
		return nil, refused("release %s was made by an earlier clm, which has not kept what it applied; first: clm apply %s SOURCE... -n %s", release, name, namespace)
	case current == nil:
		return nil, refused("release %s has no revisions; to make one: clm apply %s SOURCE... -n %s", release, name, namespace)
	}
	content, err := s.records.Content(ctx, release, current.Number)
	if err != nil {
		return nil, err
	}
	return &Plan{Release: release, Revision: *current, Content: content}, nil
}

// derive makes the revision of a plan a new one, whose manifest differs from the current one by objects that are handed over.
func (p *Plan) derive(content releases.Content, description string) error {
	current := p.Revision
	p.New, p.Content = true, content
	p.Revision.Number, p.Revision.Basis = current.Number+1, cmp.Or(current.Basis, current.Number)
	p.Revision.Description, p.Revision.Objects = description, len(content.Manifest)
	p.Revision.Created = time.Time{}
	var err error
	p.Revision.Inputs, err = inputs(content, p.Revision)
	return err
}
