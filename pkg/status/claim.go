// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// IsPendingClaim reports whether the object is a PersistentVolumeClaim that waits for a volume. Whether it has to wait
// until a Pod uses it depends on its class, see StorageClassOf.
func IsPendingClaim(object *unstructured.Unstructured) bool {
	if object == nil || object.Object == nil || object.GetDeletionTimestamp() != nil {
		return false
	}
	view := newView(object)
	if !view.is("", "PersistentVolumeClaim") {
		return false
	}
	phase := view.text("status", "phase")
	return phase == "" || phase == "Pending"
}

// StorageClassOf returns the name of a claim's StorageClass. It is empty if the claim has none, or if the default class
// is not filled in yet.
func StorageClassOf(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	if class := object.GetAnnotations()["volume.beta.kubernetes.io/storage-class"]; class != "" {
		return class
	}
	return newView(object).text("spec", "storageClassName")
}
