// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	// ReleaseHookKey is the annotation of objects that are applied only at a certain event in the life of the release,
	// such as a test.
	ReleaseHookKey  = releases.ReconcilerName + "/" + types.AnnotationKeySuffixReleaseHook
	deletionHookKey = releases.ReconcilerName + "/" + types.AnnotationKeySuffixDeletionHook
)

// RegularObjects returns the objects that are applied with the release: all but the hooks with a time of their own.
func RegularObjects(manifest []*unstructured.Unstructured) []client.Object {
	objects := make([]client.Object, 0, len(manifest))
	for _, object := range manifest {
		if IsRegular(object) {
			objects = append(objects, object)
		}
	}
	return objects
}

// IsRegular reports whether an object is applied with the release, and is not a hook with a time of its own.
func IsRegular(object *unstructured.Unstructured) bool {
	values := object.GetAnnotations()
	return values[ReleaseHookKey] == "" && values[deletionHookKey] == ""
}

// isHook reports whether an object is a hook for an event, such as types.ReleaseHookTest.
func isHook(object *unstructured.Unstructured, value string) bool {
	text, exists := object.GetAnnotations()[ReleaseHookKey]
	when, err := annotations.ReleaseHook(text)
	return exists && err == nil && when == value
}

// ManifestHooks returns copies of the hooks for an event, such as types.ReleaseHookTest. The copies lack the annotation
// that makes them hooks: the API server must not see it.
func ManifestHooks(manifest []*unstructured.Unstructured, value string) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, object := range manifest {
		if isHook(object, value) {
			hook := object.DeepCopy()
			unstructured.RemoveNestedField(hook.Object, "metadata", "annotations", ReleaseHookKey)
			objects = append(objects, hook)
		}
	}
	return objects
}

// ManifestObjects converts the type of the slice to that of the engine.
func ManifestObjects(manifest []*unstructured.Unstructured) []client.Object {
	objects := make([]client.Object, len(manifest))
	for i, object := range manifest {
		objects[i] = object
	}
	return objects
}
