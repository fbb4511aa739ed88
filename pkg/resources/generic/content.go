// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// copyServerFields copies the fields that only the server and controllers set, some of the metadata and the status,
// between objects of the same Go type.
func copyServerFields(to, from client.Object) {
	to.SetUID(from.GetUID())
	to.SetResourceVersion(from.GetResourceVersion())
	to.SetGeneration(from.GetGeneration())
	to.SetCreationTimestamp(from.GetCreationTimestamp())
	to.SetDeletionTimestamp(from.GetDeletionTimestamp())
	to.SetDeletionGracePeriodSeconds(from.GetDeletionGracePeriodSeconds())
	to.SetManagedFields(from.GetManagedFields())
	if given, ok := from.(*unstructured.Unstructured); ok {
		if status, found := given.Object["status"]; found {
			to.(*unstructured.Unstructured).Object["status"] = status //nolint:errcheck,forcetypeassert // the types are the same
		}
		return
	}
	if status := reflect.ValueOf(to).Elem().FieldByName("Status"); status.IsValid() {
		status.Set(reflect.ValueOf(from).Elem().FieldByName("Status"))
	}
}
