// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// exactly is typed, and fails if the Go type does not know a field of the object.
func exactly(object *unstructured.Unstructured, prototype client.Object) (client.Object, error) {
	return decode(object, prototype, true)
}

// typed returns a copy of an object with the Go type of a prototype.
func typed(object *unstructured.Unstructured, prototype client.Object) (client.Object, error) {
	return decode(object, prototype, false)
}

func decode(object *unstructured.Unstructured, prototype client.Object, exact bool) (client.Object, error) {
	if _, ok := prototype.(*unstructured.Unstructured); ok {
		return object.DeepCopy(), nil
	}
	result, ok := reflect.New(reflect.TypeOf(prototype).Elem()).Interface().(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no type of objects", prototype)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, result, exact); err != nil {
		return nil, fmt.Errorf("decoding the object as %T: %w", prototype, err)
	}
	return result, nil
}

// replaceContent gives a manifest the content of a typed object.
func replaceContent(manifest *unstructured.Unstructured, object client.Object) error {
	if u, ok := object.(*unstructured.Unstructured); ok {
		manifest.Object = u.Object
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("encoding the object of type %T: %w", object, err)
	}
	manifest.Object = content
	return nil
}
