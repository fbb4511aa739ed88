// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// typed returns a copy of an object with the Go type of a prototype. It has only those fields that the Go type knows.
func typed(object *unstructured.Unstructured, prototype client.Object) (client.Object, error) {
	result, _, err := decode(object, prototype, false)
	return result, err
}

// decode is typed. If asked for, it also returns the fields that the Go type does not know.
func decode(object *unstructured.Unstructured, prototype client.Object, exact bool) (result client.Object, unknown []string, err error) {
	if _, ok := prototype.(*unstructured.Unstructured); ok {
		return object.DeepCopy(), nil, nil
	}
	result, ok := reflect.New(reflect.TypeOf(prototype).Elem()).Interface().(client.Object)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a type of objects", prototype)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, result, exact)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, problem := range strict.Errors() {
			unknown = append(unknown, problem.Error())
		}
		return result, unknown, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("decoding the object as %T: %w", prototype, err)
	}
	return result, nil, nil
}

// edit has a function change a manifest by way of the Go type of a prototype. Fields that the Go type does not know
// stay. If one of them is in a list that the function changes, edit fails, and the manifest stays as it is.
func edit(manifest *unstructured.Unstructured, prototype client.Object, change func(client.Object) error) error {
	object, unknown, err := decode(manifest, prototype, true)
	if err != nil {
		return err
	}
	var before map[string]any
	if len(unknown) > 0 {
		if before, err = contentOf(object); err != nil {
			return err
		}
	}
	if err := change(object); err != nil {
		return err
	}
	after, err := contentOf(object)
	if err != nil {
		return err
	}
	if len(unknown) == 0 {
		manifest.Object = after
		return nil
	}
	changed := manifest.DeepCopy()
	merge(changed.Object, before, after)
	_, left, err := decode(changed, prototype, true)
	if err != nil {
		return err
	}
	if lost := slices.DeleteFunc(unknown, func(field string) bool { return slices.Contains(left, field) }); len(lost) > 0 {
		return errors.New("mutations would lose what " + reflect.TypeOf(prototype).String() + " does not know: " + strings.Join(lost, ", "))
	}
	manifest.Object = changed.Object
	return nil
}

// merge makes the changes of one content in another one.
func merge(target, before, after map[string]any) {
	for key, value := range after {
		was, had := before[key]
		if had && apiequality.Semantic.DeepEqual(was, value) {
			continue
		}
		inner, isMap := value.(map[string]any)
		from, wasMap := was.(map[string]any)
		into, hasMap := target[key].(map[string]any)
		if isMap && wasMap && hasMap {
			merge(into, from, inner)
		} else {
			target[key] = value
		}
	}
	for key := range before {
		if _, stays := after[key]; !stays {
			delete(target, key)
		}
	}
}

func contentOf(object client.Object) (map[string]any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encoding the object of type %T: %w", object, err)
	}
	return content, nil
}
