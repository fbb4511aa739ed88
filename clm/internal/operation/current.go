// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"time"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
)

// PlanCurrent plans to apply the current revision again from its record, without its sources. With compare, the plan
// also says how dependents differ whose drift is left alone. The caller closes the plan.
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
	return &Plan{connection: c, Release: release, Revision: *current, Content: content}, nil
}

// Derive makes the revision of a plan a new one, whose manifest differs from the current one by objects that are moved
// or orphaned, or by fields that are left to others.
func (p *Plan) Derive(content releases.Content, description string) error {
	current := p.Revision
	p.New, p.Content = true, content
	p.Revision.Number, p.Revision.Basis = current.Number+1, cmp.Or(current.Basis, current.Number)
	p.Revision.Description, p.Revision.Objects = description, len(content.Manifest)
	p.Revision.Created, p.Revision.Target = time.Time{}, 0
	var err error
	p.Revision.Inputs, err = inputs(content, p.Revision)
	return err
}
