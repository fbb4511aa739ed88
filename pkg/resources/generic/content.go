// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// serverFields are the fields of an object that only the server and controllers set: some of the metadata, and the status.
type serverFields struct {
	uid             types.UID
	resourceVersion string
	generation      int64
	createdAt       metav1.Time
	deletedAt       *metav1.Time
	gracePeriod     *int64
	managedFields   []metav1.ManagedFieldsEntry
	status          any // the field Status; nil if there is none
}

func serverFieldsOf(object client.Object) serverFields {
	fields := serverFields{
		uid: object.GetUID(), resourceVersion: object.GetResourceVersion(), generation: object.GetGeneration(), createdAt: object.GetCreationTimestamp(),
		deletedAt: object.GetDeletionTimestamp(), gracePeriod: object.GetDeletionGracePeriodSeconds(), managedFields: object.GetManagedFields(),
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		fields.status = u.Object["status"]
	} else if status := statusOf(object); status.IsValid() {
		fields.status = status.Interface()
	}
	return fields
}

// restore sets the fields in an object of the same Go type.
func (f serverFields) restore(object client.Object) {
	object.SetUID(f.uid)
	object.SetResourceVersion(f.resourceVersion)
	object.SetGeneration(f.generation)
	object.SetCreationTimestamp(f.createdAt)
	object.SetDeletionTimestamp(f.deletedAt)
	object.SetDeletionGracePeriodSeconds(f.gracePeriod)
	object.SetManagedFields(f.managedFields)
	switch u, ok := object.(*unstructured.Unstructured); {
	case f.status == nil:
	case ok:
		u.Object["status"] = f.status
	default:
		statusOf(object).Set(reflect.ValueOf(f.status))
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
