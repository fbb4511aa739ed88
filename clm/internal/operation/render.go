// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// render renders the current revision again and, if the result differs from the record, the next revision. It may be
// called again when more fields are left to others: then the result may equal the record although it did not before.
func (p *Plan) render(ctx context.Context, request Request) error {
	p.New = false
	if current := p.Release.Current(); current != nil {
		if request.KeepHooks && len(current.Hooks) > 0 {
			var err error
			if request.Sources, err = request.Sources.WithHooks(current.Hooks); err != nil {
				return err
			}
		}
		again := describe(request, *current)
		if err := p.generate(ctx, request, &again); err != nil {
			return err
		}
		if same, err := isRecorded(ctx, p, current); err != nil || same {
			return err
		}
		if err := acknowledge(ctx, p.connection, p.Release); err != nil {
			return err
		}
		p.Content = releases.Content{} // rendering may need the memory
	}
	// A record that was lost and restored has dependents and no revisions.
	next := releases.Revision{Number: 1, Description: cmp.Or(request.Description, "applied"), Installed: len(p.Release.Inventory) > 0}
	if current := p.Release.Current(); current != nil {
		next.Number = current.Number + 1
		next.Installed = current.Installed || p.Release.LastReady() != nil
	}
	next = describe(request, next)
	p.New = true
	return p.generate(ctx, request, &next)
}

// isRecorded reports whether the rendered revision of a plan is the current one. The names of Helm's hooks, which are
// random in many charts, make no difference. If it is, the plan gets the recorded hooks, so that they are not applied
// under other names.
func isRecorded(ctx context.Context, p *Plan, current *releases.Revision) (bool, error) {
	if p.Revision.Inputs == current.Inputs || !slices.ContainsFunc(p.Content.Manifest, isHelmHook) {
		return p.Revision.Inputs == current.Inputs, nil
	}
	if _, err := p.keeper.read(ctx); err != nil || p.keeper.damage != nil {
		return false, err
	}
	recorded, err := nameless(p.keeper.last, *current)
	if err != nil {
		return false, err
	}
	rendered, err := nameless(p.Content, p.Revision)
	if err != nil || rendered != recorded {
		return false, err
	}
	p.Content.Manifest, p.Revision.Inputs, p.Revision.Objects = p.keeper.last.Manifest, current.Inputs, len(p.keeper.last.Manifest)
	return true, nil
}

// nameless returns a digest of the inputs of a revision, independent of the names of Helm's hooks and of the order of
// objects.
func nameless(content releases.Content, revision releases.Revision) (string, error) {
	objects := slices.Clone(content.Manifest)
	for i, object := range objects {
		if isHelmHook(object) {
			objects[i] = object.DeepCopy()
			objects[i].SetName("")
		}
	}
	revision.Inputs = unordered
	return inputs(releases.Content{Values: content.Values, Manifest: objects}, revision)
}

// describe returns the revision with the policies and sources of the request.
func describe(request Request, revision releases.Revision) releases.Revision {
	revision.DependsOn, revision.Labels = request.DependsOn, request.Labels
	revision.Policies, revision.Hooks, revision.Sources = Lasting(request.Policies), request.Sources.Hooks(), request.Sources.Sources()
	return revision
}

// generate renders a revision and sets it in the plan.
func (p *Plan) generate(ctx context.Context, request Request, revision *releases.Revision) error {
	generated, err := request.Sources.Generate(ctx, sources.Request{
		ReconcilerName: releases.ReconcilerName,
		Namespace:      request.Namespace,
		Name:           request.Name,
		Revision:       cmp.Or(revision.Basis, revision.Number),
		Installed:      revision.Installed,
		Digest:         digestOf(*revision),
		Client:         p.connection.Client(),
		Recorded:       p.keeper.read,
		ReleaseHooks:   true,
	})
	if err != nil {
		return fmt.Errorf("generating the objects of release %s/%s: %w", request.Namespace, request.Name, err)
	}
	content := releases.Content{Values: request.Sources.Values(), Notes: generated.Notes}
	if content.Manifest, err = p.keeper.complete(ctx, generated.Objects); err != nil {
		return err
	}
	if err = checkManifest(p.Release, content.Manifest, p.connection.Client().Scheme()); err != nil {
		return err
	}
	if revision.Inputs, err = inputs(content, *revision); err != nil {
		return err
	}
	revision.Objects = len(content.Manifest)
	p.Revision, p.Content = *revision, content
	return nil
}

// digestOf identifies the state of a release: objects that are applied on each change are applied with each revision,
// unless the revision differs only by objects that were moved or orphaned.
func digestOf(revision releases.Revision) string {
	return strconv.FormatInt(cmp.Or(revision.Basis, revision.Number), 10)
}

const applyHookKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixApplyHook

// checkManifest refuses hooks that could not be applied later, and objects that are records or locks of releases: a
// release whose record is deleted or replaced by an older one loses its dependents.
func checkManifest(release *releases.Release, manifest []*unstructured.Unstructured, scheme *runtime.Scheme) error {
	var problems []string
	for _, object := range manifest {
		if reason := releases.Reserved(release.Namespace, release.Name, object); reason != "" {
			problems = append(problems, fmt.Sprintf("%s: %s; leave it out of the sources", display.Text(object), reason))
		}
		if text, exists := object.GetAnnotations()[ReleaseHookKey]; exists {
			if _, err := annotations.Policy(types.AnnotationKeySuffixReleaseHook, text); err != nil {
				problems = append(problems, fmt.Sprintf("%s: annotation %s: %s", display.Text(object), ReleaseHookKey, err))
			}
			if _, both := object.GetAnnotations()[applyHookKey]; both {
				problems = append(problems, fmt.Sprintf("%s: annotation %s: a release hook cannot also be an apply hook", display.Text(object), applyHookKey))
			}
		}
	}
	if len(problems) > 0 {
		return inventory.NewRefusedError(problems...)
	}
	_, _, err := deletionhooks.Split(ManifestObjects(manifest), releases.ReconcilerName, scheme)
	return err
}

// unordered is the prefix of digests that do not depend on the order of objects. Revisions of other tools have such
// digests, because Helm records objects in a different order than it renders them. The order has no effect, but
// recorded digests stay as they are.
const unordered = "unordered:"

// inputs returns the digest of the inputs of a revision, without the locations of its sources. It is unordered if the
// present digest of the revision is.
func inputs(content releases.Content, revision releases.Revision) (string, error) {
	prefix := ""
	if strings.HasPrefix(revision.Inputs, unordered) {
		prefix = unordered
	}
	objects, err := distinct(content.Manifest, prefix == unordered)
	if err != nil {
		return "", err
	}
	sources := make([]releases.Source, len(revision.Sources))
	for i, source := range revision.Sources {
		source.Reference, source.Digest, source.SignedBy = "", "", "" // equal content is the same revision
		sources[i] = source
	}
	all := map[string]any{"values": content.Values, "manifest": objects, "sources": sources, "policies": revision.Policies}
	if len(revision.Hooks) > 0 {
		all["hooks"] = revision.Hooks
	}
	if len(revision.DependsOn) > 0 {
		all["dependsOn"] = revision.DependsOn
	}
	if len(revision.Labels) > 0 {
		all["labels"] = revision.Labels
	}
	result, err := manifest.DigestOfMap(all)
	if err != nil {
		return "", fmt.Errorf("computing the digest of what is applied: %w", err)
	}
	return prefix + result, nil
}

// distinct returns the input for the digest of objects: the objects in their order, or sorted digests of them.
func distinct(objects []*unstructured.Unstructured, sorted bool) (any, error) {
	if !sorted {
		return display.Map(objects, (*unstructured.Unstructured).UnstructuredContent), nil
	}
	digests := make([]string, len(objects))
	for i, object := range objects {
		var err error
		if digests[i], err = manifest.DigestOfMap(object.Object); err != nil {
			return nil, fmt.Errorf("computing the digest of %s: %w", display.Text(object), err)
		}
	}
	slices.Sort(digests)
	return digests, nil
}

const (
	// ReleaseHookKey is the annotation of objects that are applied only for a certain event in the life of the release,
	// such as a test.
	ReleaseHookKey  = releases.ReconcilerName + "/" + types.AnnotationKeySuffixReleaseHook
	deletionHookKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixDeletionHook
)

// IsRegular reports whether an object is applied with the release, rather than as a hook with a time of its own.
func IsRegular(object *unstructured.Unstructured) bool {
	values := object.GetAnnotations()
	return values[ReleaseHookKey] == "" && values[deletionHookKey] == ""
}

// IsHook reports whether an object is a hook of clm or of Helm.
func IsHook(object *unstructured.Unstructured) bool {
	return !IsRegular(object) || isHelmHook(object) || object.GetAnnotations()[applyHookKey] != ""
}

// ManifestHooks returns copies of the hooks for an event, such as types.ReleaseHookTest. The copies lack the annotation
// that makes them hooks: the API server must not see it.
func ManifestHooks(manifest []*unstructured.Unstructured, value string) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, object := range manifest {
		text, exists := object.GetAnnotations()[ReleaseHookKey]
		if when, err := annotations.Policy(types.AnnotationKeySuffixReleaseHook, text); exists && err == nil && when == value {
			hook := object.DeepCopy()
			unstructured.RemoveNestedField(hook.Object, "metadata", "annotations", ReleaseHookKey)
			objects = append(objects, hook)
		}
	}
	return objects
}

// ManifestObjects converts the type of the slice to that of the engine.
func ManifestObjects(manifest []*unstructured.Unstructured) []client.Object {
	return display.Map(manifest, func(object *unstructured.Unstructured) client.Object { return object })
}
