// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
)

// object is an object in its transferable form: the content of an unstructured one, or kind and value of one with a Go type.
type object struct {
	Content map[string]any           `json:"content"`
	Kind    *schema.GroupVersionKind `json:"kind"`
	Value   any                      `json:"value"`
}

func packObjects(scheme *runtime.Scheme, objects []client.Object) ([]object, error) {
	packed := make([]object, 0, len(objects))
	for i, original := range objects {
		if value := reflect.ValueOf(original); !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil() {
			return nil, fmt.Errorf("object %d is nil (%T)", i+1, original)
		}
		if names := behaviors.Names(original); len(names) > 0 {
			return nil, fmt.Errorf("object %d, %q, has behaviors (%s), which an isolated generator cannot return", i+1, original.GetName(), strings.Join(names, ", "))
		}
		original = behaviors.Bare(original)
		if u, ok := original.(*unstructured.Unstructured); ok {
			content, err := numeric(u.Object)
			if err != nil {
				return nil, fmt.Errorf("sending object %d, %q: %w", i+1, original.GetName(), err)
			}
			packed = append(packed, object{Content: content})
			continue
		}
		kinds, _, err := scheme.ObjectKinds(original)
		if err != nil {
			return nil, fmt.Errorf("object %d, %q, has Go type %T, which an isolated generator can only return if it implements types.SchemeBuilder and adds the type: %w",
				i+1, original.GetName(), original, err)
		}
		encoded, err := encode(reflect.ValueOf(original).Elem(), 0)
		if err != nil {
			return nil, fmt.Errorf("sending object %d, %q, of type %T: %w", i+1, original.GetName(), original, err)
		}
		packed = append(packed, object{Kind: &kinds[0], Value: encoded})
	}
	return packed, nil
}

func unpackObjects(scheme *runtime.Scheme, packed []object) ([]client.Object, error) {
	objects := make([]client.Object, 0, len(packed))
	for i, received := range packed {
		if received.Kind == nil {
			objects = append(objects, &unstructured.Unstructured{Object: received.Content})
			continue
		}
		made, err := scheme.New(*received.Kind)
		if err != nil {
			return nil, fmt.Errorf("receiving object %d: %w", i+1, err)
		}
		typed, ok := made.(client.Object)
		if !ok {
			return nil, fmt.Errorf("receiving object %d: a %T is not an object", i+1, made)
		}
		if err := decode(received.Value, reflect.ValueOf(typed).Elem()); err != nil {
			return nil, fmt.Errorf("receiving object %d of type %T: %w", i+1, typed, err)
		}
		objects = append(objects, typed)
	}
	return objects, nil
}
