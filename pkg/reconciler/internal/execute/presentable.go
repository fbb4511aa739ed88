// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
)

// Presentable returns a copy of an object without the status and the metadata that the server and the reconciler
// maintain; nil of nil.
func Presentable(object *unstructured.Unstructured, keys prepare.Keys) *unstructured.Unstructured {
	if object == nil {
		return nil
	}
	object = object.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	removeKeys(object, "annotations", keys.Digest)
	return object
}

// removeKeys removes labels or annotations.
func removeKeys(object *unstructured.Unstructured, field string, keys ...string) {
	entries, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", field)
	content, _ := entries.(map[string]any)
	for _, key := range keys {
		delete(content, key)
	}
	if len(content) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
}
