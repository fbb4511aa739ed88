// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/digest"
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
	annotations := object.GetAnnotations()
	return annotations[releaseHookKey] == "" && annotations[deletionHookKey] == ""
}

// hooks returns the hooks of a revision that have their time when the annotation with the given key says so. The annotation is
// taken off: it is nothing that the API server should see.
func hooks(manifest []*unstructured.Unstructured, key, value string) []client.Object {
	var objects []client.Object
	for _, object := range manifest {
		if strings.TrimSpace(object.GetAnnotations()[key]) == value {
			hook := object.DeepCopy()
			unstructured.RemoveNestedField(hook.Object, "metadata", "annotations", key)
			objects = append(objects, hook)
		}
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
