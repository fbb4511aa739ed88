// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package types

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// Unstructurable is implemented by parameters of a generator, usually the spec of a component.
type Unstructurable interface {
	// ToUnstructured returns the value as maps, slices and scalars, as decoding JSON yields them. The caller may change
	// the result.
	ToUnstructured() map[string]any
}

// UnstructurableMap makes a map usable as parameters of a generator.
type UnstructurableMap map[string]any

var _ Unstructurable = UnstructurableMap{}

// ToUnstructured returns a copy of the map. Values of type map[string]any and []any are copied too, others are shared.
func (m UnstructurableMap) ToUnstructured() map[string]any {
	return copyMap(m)
}

func copyMap(in map[string]any) map[string]any {
	if in == nil {
		return nil
	}
	out := make(map[string]any, len(in))
	for key, value := range in {
		out[key] = copyValue(value)
	}
	return out
}

func copyValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return copyMap(value)
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = copyValue(item)
		}
		return out
	default:
		return value
	}
}

// SchemeBuilder adds types to a scheme. A generator that implements it contributes the types of the
// objects it returns.
type SchemeBuilder interface {
	AddToScheme(scheme *runtime.Scheme) error
}

// Selector selects objects of type T.
type Selector[T any] interface {
	// Matches reports whether the object is selected.
	Matches(object T) bool
}

// SelectorFunc is a function used as Selector.
type SelectorFunc[T any] func(object T) bool

// Matches calls the function.
func (f SelectorFunc[T]) Matches(object T) bool {
	return f(object)
}
