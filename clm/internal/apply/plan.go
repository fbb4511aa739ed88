// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Request is what a release is to become.
type Request struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// Sources are what it is made of.
	Sources *sources.Set
	// Policies apply where the annotations of objects say nothing.
	Policies reconciler.Policies
}

// Operation is what a plan is for.
type Operation string

const (
	// Apply makes a release what sources yield.
	Apply Operation = "apply"
	// Rollback makes a release what it was in an earlier revision.
	Rollback Operation = "rollback"
	// Heal makes a release what its current revision says.
	Heal Operation = "heal"
	// Adopt is Heal that takes over objects, whoever owns them.
	Adopt Operation = "adopt"
	// Orphan lets go of objects.
	Orphan Operation = "orphan"
	// Move hands objects over from one release to another.
	Move Operation = "move"
)

// Plan is what is going to be done, decided on the state in which the release was found.
type Plan struct {
	// Release as it was found. It has no revision if there is none yet.
	Release *releases.Release
	// Revision is the one to be applied.
	Revision releases.Revision
	// New means that the revision is not recorded yet.
	New bool
	// Content of the revision.
	Content releases.Content
	// Operation is what the plan is for.
	Operation Operation
	// Changes are what is going to happen to objects.
	Changes []reconciler.Change

	connection *connection.Connection
	exact      *reconciler.Plan
	objects    []client.Object
	takeOver   []types.ObjectKey
	target     *runner.Target
	// adoption is the policy that was given for this operation; empty if none was.
	adoption reconciler.AdoptionPolicy
	// spared are the texts of the objects that stay although they are not wanted any more, because they were adopted.
	spared []string
}

// Close ends what was begun to find out how things stand. It may be called more than once.
func (p *Plan) Close() {
	if p.target != nil {
		p.target.Close()
	}
}

// Idle reports whether nothing is to be done, nor to be waited for.
func (p *Plan) Idle() bool {
	return !p.New && p.Release.State == releases.StateReady && len(p.Pending()) == 0
}

// Pending are the changes that are not merely the confirmation that nothing is to be changed.
func (p *Plan) Pending() []reconciler.Change {
	var pending []reconciler.Change
	for _, change := range p.Changes {
		if change.Verb != "" || change.Refusal != "" {
			pending = append(pending, change)
		}
	}
	return pending
}

// Protected returns an error if the plan cannot be carried out because objects belong to others: a RefusedError that names them.
func (p *Plan) Protected() error {
	var problems []string
	for _, change := range p.Changes {
		if change.Foreign {
			problems = append(problems, fmt.Sprintf("%s: %s", change.Object, change.Refusal))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return failures.Refused("%s; %s", strings.Join(problems, "; "), failures.AdviceForeign)
}

// PlanSources finds out what has to be done to make the release what is requested. With compare the server is asked what is going to become of each
// object; that takes a request or two per object. A release that is new, although there is something of it, is refused. The plan is to be closed.
func PlanSources(ctx context.Context, c *connection.Connection, request Request, compare bool) (*Plan, error) {
	release, err := find(ctx, c, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	plan := &Plan{connection: c, Release: release, Operation: Apply, adoption: request.Policies.Adoption}
	if err := plan.observe(); err != nil {
		return nil, err
	}
	if err := plan.render(ctx, request); err != nil {
		plan.Close()
		return nil, err
	}
	if err := plan.Compare(ctx, compare); err != nil {
		return nil, err
	}
	if err := confirmNew(ctx, c.Records(), plan); err != nil {
		plan.Close()
		return nil, err
	}
	return plan, nil
}

// observe begins to look at the dependents of the release.
func (p *Plan) observe() (err error) {
	if p.target == nil {
		p.target, err = runner.NewTarget(p.connection, releases.OwnerID(p.Release.Namespace, p.Release.Name), p.Release.Inventory)
	}
	return err
}

// find reads a release, or returns a new one.
func find(ctx context.Context, c *connection.Connection, namespace, name string) (*releases.Release, error) {
	if err := c.Ready(ctx); err != nil {
		return nil, err
	}
	release, err := c.Records().Get(ctx, namespace, name)
	switch {
	case errors.Is(err, releases.ErrNotFound):
		return &releases.Release{Namespace: namespace, Name: name, State: releases.StateApplying}, nil
	case err != nil:
		return nil, err
	case release.State == releases.StateDeleting:
		return nil, failures.BeingDeleted(release)
	default:
		return release, nil
	}
}

// Compare has the engine say what it would do. If it fails, the plan is closed. With compare the server is asked what is going to become of each object.
func (p *Plan) Compare(ctx context.Context, compare bool) error {
	p.objects = objectsOf(p)
	if err := p.observe(); err != nil {
		return err
	}
	options := reconciler.PlanOptions{Compare: compare, LeftAlone: p.Operation == Heal}
	found, err := p.target.Engine().Plan(ctx, p.request(nil), options)
	if err != nil {
		p.Close()
		return p.ofRecord(err)
	}
	p.exact, p.Changes = &found, found.Changes
	return nil
}

// TakeOver has the plan take objects over, whoever owns them.
func (p *Plan) TakeOver(objects ...types.ObjectKey) { p.takeOver = append(p.takeOver, objects...) }

// ofRecord completes an error about objects that cannot be accepted as they are: those of a revision that is recorded cannot be mended, but replaced.
func (p *Plan) ofRecord(err error) error {
	var rejected *reconciler.RefusedError
	if p.Operation == Apply || !errors.As(err, &rejected) {
		return err
	}
	name, namespace := p.Release.Name, p.Release.Namespace
	return fmt.Errorf("what is recorded in a revision of release %s is not accepted any more: %w; nothing was changed. To make a revision that is: clm apply %s SOURCE... -n %s",
		p.Release, err, name, namespace)
}

// request is what the engine is asked for.
func (p *Plan) request(save reconciler.Store) reconciler.ApplyRequest {
	return reconciler.ApplyRequest{
		Owner: reconciler.Owner{
			ID:        p.target.Owner(),
			Namespace: p.Release.Namespace,
			Home:      []string{p.Release.Namespace},
			Inventory: p.Release.Inventory,
			Store:     save,
		},
		Objects:  p.objects,
		Version:  p.Revision.Inputs,
		Digest:   digestOf(p.Revision),
		Policies: p.policies(),
		TakeOver: p.takeOver,

		RecordAdoptions: true,
	}
}
