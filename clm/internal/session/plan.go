// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
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

	exact    *reconciler.Plan
	objects  []client.Object
	takeOver []types.ObjectKey
	target   *target
	// adoption is the policy that was given for this operation; empty if none was.
	adoption reconciler.AdoptionPolicy
	// spared are the texts of the objects that stay although they are not wanted any more, because they were adopted.
	spared []string
}

// Close ends what was begun to find out how things stand. It may be called more than once.
func (p *Plan) Close() {
	if p.target != nil {
		p.target.close()
	}
}

// Idle tells whether nothing is to be done, nor to be waited for.
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
	return refused("%s; %s", strings.Join(problems, "; "), adviceForeign)
}

// Plan finds out what has to be done to make the release what is requested. With compare the server is asked what is going to become of each
// object; that takes a request or two per object. A release that is new, although there is something of it, is refused. The plan is to be closed.
func (s *Session) Plan(ctx context.Context, request Request, compare bool) (*Plan, error) {
	release, err := s.find(ctx, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Release: release, Operation: Apply, adoption: request.Policies.Adoption}
	if err := s.observe(plan); err != nil {
		return nil, err
	}
	if err := s.render(ctx, request, plan); err != nil {
		plan.Close()
		return nil, err
	}
	plan.objects = objectsOf(plan)
	if err := s.compare(ctx, plan, compare); err != nil {
		return nil, err
	}
	if err := confirmNew(ctx, s.records, plan); err != nil {
		plan.Close()
		return nil, err
	}
	return plan, nil
}

// observe begins to look at the dependents of the release.
func (s *Session) observe(plan *Plan) (err error) {
	if plan.target == nil {
		plan.target, err = s.target(releases.OwnerID(plan.Release.Namespace, plan.Release.Name), plan.Release.Inventory)
	}
	return err
}

// find reads a release, or returns a new one.
func (s *Session) find(ctx context.Context, namespace, name string) (*releases.Release, error) {
	if err := s.Ready(ctx); err != nil {
		return nil, err
	}
	release, err := s.records.Get(ctx, namespace, name)
	switch {
	case errors.Is(err, releases.ErrNotFound):
		return &releases.Release{Namespace: namespace, Name: name, State: releases.StateApplying}, nil
	case err != nil:
		return nil, err
	case release.State == releases.StateDeleting:
		return nil, beingDeleted(release)
	default:
		return release, nil
	}
}

// render generates the current revision once more and, if that is not what it was, the next one.
func (s *Session) render(ctx context.Context, request Request, plan *Plan) error {
	if current := plan.Release.Current(); current != nil {
		again := describe(request, *current)
		if err := s.generate(ctx, request, &again, plan); err != nil {
			return err
		}
		if again.Inputs == current.Inputs {
			return nil
		}
		if err := s.acknowledge(ctx, plan.Release); err != nil {
			return err
		}
	}
	// A record that was lost, and restored, has dependents and no revisions.
	next := releases.Revision{Number: 1, Description: "applied", Installed: len(plan.Release.Inventory) > 0}
	if current := plan.Release.Current(); current != nil {
		next.Number = current.Number + 1
		next.Installed = current.Installed || plan.Release.LastReady() != nil
	}
	next = describe(request, next)
	plan.New = true
	return s.generate(ctx, request, &next, plan)
}

// describe returns the revision with what the request says.
func describe(request Request, revision releases.Revision) releases.Revision {
	revision.Policies, revision.Sources = lasting(request.Policies), nil
	for _, source := range request.Sources.Sources() {
		revision.Sources = append(revision.Sources, releases.Source{
			Reference: source.Reference, Kind: string(source.Kind), Name: source.Name, Version: source.Version, AppVersion: source.AppVersion,
		})
	}
	return revision
}

func (s *Session) generate(ctx context.Context, request Request, revision *releases.Revision, plan *Plan) error {
	objects, err := request.Sources.Generate(ctx, sources.Request{
		ReconcilerName: releases.ReconcilerName,
		Namespace:      request.Namespace,
		Name:           request.Name,
		Revision:       revision.Number,
		Installed:      revision.Installed,
		Digest:         digestOf(*revision),
		Client:         s.client,
		ReleaseHooks:   true,
	})
	if err != nil {
		return fmt.Errorf("generating the objects of release %s/%s: %w", request.Namespace, request.Name, err)
	}
	content := releases.Content{Values: request.Sources.Values()}
	if content.Manifest, err = s.toManifest(objects); err != nil {
		return err
	}
	if err = checkReserved(plan.Release, content.Manifest); err != nil {
		return err
	}
	if err = s.checkHooks(content.Manifest); err != nil {
		return err
	}
	if revision.Inputs, err = inputs(content, *revision); err != nil {
		return err
	}
	revision.Objects = len(content.Manifest)
	plan.Revision, plan.Content = *revision, content
	return nil
}

// digestOf identifies the state of a release: objects that are applied with each change are applied with each revision, unless that
// differs only by objects that were handed over.
func digestOf(revision releases.Revision) string {
	return strconv.FormatInt(cmp.Or(revision.Basis, revision.Number), 10)
}

// compare has the engine say what it would do.
func (s *Session) compare(ctx context.Context, plan *Plan, compare bool) error {
	if err := s.observe(plan); err != nil {
		return err
	}
	options := reconciler.PlanOptions{Compare: compare, LeftAlone: plan.Operation == Heal}
	found, err := plan.target.engine.Plan(ctx, s.applyRequest(plan, nil), options)
	if err != nil {
		plan.Close()
		return plan.ofRecord(err)
	}
	plan.exact, plan.Changes = &found, found.Changes
	return nil
}

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

// applyRequest is what the engine is asked for.
func (s *Session) applyRequest(plan *Plan, save reconciler.Store) reconciler.ApplyRequest {
	return reconciler.ApplyRequest{
		Owner: reconciler.Owner{
			ID:        plan.target.owner,
			Namespace: plan.Release.Namespace,
			Home:      []string{plan.Release.Namespace},
			Inventory: plan.Release.Inventory,
			Store:     save,
		},
		Objects:  plan.objects,
		Version:  plan.Revision.Inputs,
		Digest:   digestOf(plan.Revision),
		Policies: plan.policies(),
		TakeOver: plan.takeOver,

		RecordAdoptions: true,
	}
}
