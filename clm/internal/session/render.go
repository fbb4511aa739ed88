// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/deletionhooks"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	releaseHookKey  = releases.ReconcilerName + "/" + types.AnnotationKeySuffixReleaseHook
	deletionHookKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixDeletionHook
)

// toManifest returns the form in which rendered objects are recorded.
func (s *Session) toManifest(objects []client.Object) ([]*unstructured.Unstructured, error) {
	manifest := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		converted, err := clients.ToUnstructured(object, s.client.Scheme())
		if err != nil {
			return nil, err
		}
		manifest[i] = converted
	}
	return manifest, nil
}

// regular returns what is applied with the release, leaving out hooks that have their own time.
func regular(manifest []*unstructured.Unstructured) []client.Object {
	objects := make([]client.Object, 0, len(manifest))
	for _, object := range manifest {
		if isRegular(object) {
			objects = append(objects, object)
		}
	}
	return objects
}

func isRegular(object *unstructured.Unstructured) bool {
	values := object.GetAnnotations()
	return values[releaseHookKey] == "" && values[deletionHookKey] == ""
}

// releaseHooks returns the hooks of a revision that are applied when that is done with the release which the value says. The annotation that
// says so is taken off: it is nothing that the API server should see.
func releaseHooks(manifest []*unstructured.Unstructured, value string) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, object := range manifest {
		text, exists := object.GetAnnotations()[releaseHookKey]
		if when, err := annotations.ReleaseHook(text); exists && err == nil && when == value {
			hook := object.DeepCopy()
			unstructured.RemoveNestedField(hook.Object, "metadata", "annotations", releaseHookKey)
			objects = append(objects, hook)
		}
	}
	return objects
}

// checkReserved refuses objects by which releases are recorded or locked: who deletes them, or applies what they were once, has a release forget
// what it has.
func checkReserved(release *releases.Release, manifest []*unstructured.Unstructured) error {
	var problems []string
	for _, object := range manifest {
		if reason := releases.Reserved(release.Namespace, release.Name, object); reason != "" {
			problems = append(problems, fmt.Sprintf("%s: %s; leave it out of the sources", objectText(object), reason))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return &reconciler.RefusedError{Problems: problems}
}

// checkHooks refuses hooks that could not be applied when their time comes.
func (s *Session) checkHooks(manifest []*unstructured.Unstructured) error {
	var problems []string
	for _, object := range manifest {
		if text, exists := object.GetAnnotations()[releaseHookKey]; exists {
			if _, err := annotations.ReleaseHook(text); err != nil {
				problems = append(problems, fmt.Sprintf("%s: annotation %s: %s", objectText(object), releaseHookKey, err))
			}
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return &reconciler.RefusedError{Problems: problems}
	}
	_, _, err := deletionhooks.Split(asObjects(manifest), releases.ReconcilerName, s.client.Scheme())
	return err
}

func asObjects(manifest []*unstructured.Unstructured) []client.Object {
	objects := make([]client.Object, len(manifest))
	for i, object := range manifest {
		objects[i] = object
	}
	return objects
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
