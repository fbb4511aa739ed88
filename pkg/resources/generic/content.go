// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keepServerFields copies those fields that only the server and controllers set from one object to another of the same Go type: some of the metadata, and the status.
func keepServerFields(from, to client.Object) {
	to.SetUID(from.GetUID())
	to.SetResourceVersion(from.GetResourceVersion())
	to.SetGeneration(from.GetGeneration())
	to.SetCreationTimestamp(from.GetCreationTimestamp())
	to.SetDeletionTimestamp(from.GetDeletionTimestamp())
	to.SetDeletionGracePeriodSeconds(from.GetDeletionGracePeriodSeconds())
	to.SetManagedFields(from.GetManagedFields())
	if source, ok := from.(*unstructured.Unstructured); ok {
		if target, ok := to.(*unstructured.Unstructured); ok && source.Object["status"] != nil {
			target.Object["status"] = source.Object["status"]
		}
		return
	}
	if target := statusOf(to); target.IsValid() {
		target.Set(statusOf(from))
	}
}

// statusOf returns the field Status of an object; it is not valid if there is none.
func statusOf(object client.Object) reflect.Value {
	value := reflect.ValueOf(object).Elem()
	if value.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return value.FieldByName("Status")
}
