// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/manifest"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// render generates the current revision once more and, if that is not what it was, the next one.
func (p *Plan) render(ctx context.Context, request Request) error {
	if current := p.Release.Current(); current != nil {
		again := describe(request, *current)
		if err := p.generate(ctx, request, &again); err != nil {
			return err
		}
		if again.Inputs == current.Inputs {
			return nil
		}
		if err := acknowledge(ctx, p.connection, p.Release); err != nil {
			return err
		}
	}
	// A record that was lost, and restored, has dependents and no revisions.
	next := releases.Revision{Number: 1, Description: "applied", Installed: len(p.Release.Inventory) > 0}
	if current := p.Release.Current(); current != nil {
		next.Number = current.Number + 1
		next.Installed = current.Installed || p.Release.LastReady() != nil
	}
	next = describe(request, next)
	p.New = true
	return p.generate(ctx, request, &next)
}

// describe returns the revision with what the request says.
func describe(request Request, revision releases.Revision) releases.Revision {
	revision.Policies, revision.Sources = Lasting(request.Policies), nil
	for _, source := range request.Sources.Sources() {
		revision.Sources = append(revision.Sources, releases.Source{
			Reference: source.Reference, Kind: string(source.Kind), Name: source.Name, Version: source.Version, AppVersion: source.AppVersion,
		})
	}
	return revision
}

// generate renders a revision, and makes it that of the p.
func (p *Plan) generate(ctx context.Context, request Request, revision *releases.Revision) error {
	objects, err := request.Sources.Generate(ctx, sources.Request{
		ReconcilerName: releases.ReconcilerName,
		Namespace:      request.Namespace,
		Name:           request.Name,
		Revision:       revision.Number,
		Installed:      revision.Installed,
		Digest:         digestOf(*revision),
		Client:         p.connection.Client(),
		ReleaseHooks:   true,
	})
	if err != nil {
		return fmt.Errorf("generating the objects of release %s/%s: %w", request.Namespace, request.Name, err)
	}
	content := releases.Content{Values: request.Sources.Values()}
	if content.Manifest, err = toManifest(objects, p.connection.Client().Scheme()); err != nil {
		return err
	}
	if err = checkReserved(p.Release, content.Manifest); err != nil {
		return err
	}
	if err = checkHooks(content.Manifest, p.connection.Client().Scheme()); err != nil {
		return err
	}
	if revision.Inputs, err = inputs(content, *revision); err != nil {
		return err
	}
	revision.Objects = len(content.Manifest)
	p.Revision, p.Content = *revision, content
	return nil
}

// digestOf identifies the state of a release: objects that are applied with each change are applied with each revision, unless that
// differs only by objects that were handed over.
func digestOf(revision releases.Revision) string {
	return strconv.FormatInt(cmp.Or(revision.Basis, revision.Number), 10)
}

// toManifest returns the form in which rendered objects are recorded.
func toManifest(objects []client.Object, scheme *runtime.Scheme) ([]*unstructured.Unstructured, error) {
	manifest := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		converted, err := clients.ToUnstructured(object, scheme)
		if err != nil {
			return nil, err
		}
		manifest[i] = converted
	}
	return manifest, nil
}

// checkReserved refuses objects by which releases are recorded or locked: who deletes them, or applies what they were once, has a release forget
// what it has.
func checkReserved(release *releases.Release, manifest []*unstructured.Unstructured) error {
	var problems []string
	for _, object := range manifest {
		if reason := releases.Reserved(release.Namespace, release.Name, object); reason != "" {
			problems = append(problems, fmt.Sprintf("%s: %s; leave it out of the sources", dependents.Text(object), reason))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return &reconciler.RefusedError{Problems: problems}
}

// checkHooks refuses hooks that could not be applied when their time comes.
func checkHooks(recorded []*unstructured.Unstructured, scheme *runtime.Scheme) error {
	var problems []string
	for _, object := range recorded {
		if text, exists := object.GetAnnotations()[manifest.ReleaseHookKey]; exists {
			if _, err := annotations.ReleaseHook(text); err != nil {
				problems = append(problems, fmt.Sprintf("%s: annotation %s: %s", dependents.Text(object), manifest.ReleaseHookKey, err))
			}
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return &reconciler.RefusedError{Problems: problems}
	}
	_, _, err := deletionhooks.Split(manifest.Objects(recorded), releases.ReconcilerName, scheme)
	return err
}

// inputs identifies what a revision is made of. Where a source was found is not part of it.
func inputs(content releases.Content, revision releases.Revision) (string, error) {
	manifest := make([]map[string]any, len(content.Manifest))
	for i, object := range content.Manifest {
		manifest[i] = object.Object
	}
	sources := make([]releases.Source, len(revision.Sources))
	for i, source := range revision.Sources {
		source.Reference = ""
		sources[i] = source
	}
	result, err := digest.Of(map[string]any{
		"values": content.Values, "manifest": manifest, "sources": sources, "policies": revision.Policies,
	})
	if err != nil {
		return "", fmt.Errorf("computing the digest of what is applied: %w", err)
	}
	return result, nil
}
