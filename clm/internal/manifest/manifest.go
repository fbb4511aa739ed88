// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// ReleaseHookKey is the annotation of objects that are applied when something is done with the release.
	ReleaseHookKey  = releases.ReconcilerName + "/" + types.AnnotationKeySuffixReleaseHook
	deletionHookKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixDeletionHook
)

// Regular returns what is applied with the release, leaving out hooks that have their own time.
func Regular(manifest []*unstructured.Unstructured) []client.Object {
	objects := make([]client.Object, 0, len(manifest))
	for _, object := range manifest {
		if IsRegular(object) {
			objects = append(objects, object)
		}
	}
	return objects
}

// IsRegular reports whether an object is applied with the release, and no hook that has its own time.
func IsRegular(object *unstructured.Unstructured) bool {
	values := object.GetAnnotations()
	return values[ReleaseHookKey] == "" && values[deletionHookKey] == ""
}

// Hooks returns copies of the hooks that are applied when that is done with the release which the value says, such as types.ReleaseHookTest. The
// annotation that says so is taken off: it is nothing that the API server should see.
func Hooks(manifest []*unstructured.Unstructured, value string) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, object := range manifest {
		text, exists := object.GetAnnotations()[ReleaseHookKey]
		if when, err := annotations.ReleaseHook(text); exists && err == nil && when == value {
			hook := object.DeepCopy()
			unstructured.RemoveNestedField(hook.Object, "metadata", "annotations", ReleaseHookKey)
			objects = append(objects, hook)
		}
	}
	return objects
}

// Objects returns the same objects as the type that the engine takes.
func Objects(manifest []*unstructured.Unstructured) []client.Object {
	objects := make([]client.Object, len(manifest))
	for i, object := range manifest {
		objects[i] = object
	}
	return objects
}
