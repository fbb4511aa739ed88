// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/values"
	"github.com/component-operator/runtime/pkg/types"
)

// carried is a value in its transferable form: a map, or a value of a known Go type.
type carried struct {
	Type  string         `json:"type"`
	Map   map[string]any `json:"map"`
	Value any            `json:"value"`
}

// The types that need not be listed.
const (
	mapType          = "map"
	unstructuredType = "unstructured"
)

// knownTypes are the types whose values can be transferred, by their names.
type knownTypes map[string]reflect.Type

func newKnownTypes(examples []any) (knownTypes, error) {
	known := knownTypes{}
	for i, example := range examples {
		example := reflect.TypeOf(example)
		if example == nil {
			return nil, fmt.Errorf("value %d of its Types is nil; it must be a value of the type that is meant", i+1)
		}
		known[nameOf(example)] = example
	}
	return known, nil
}

func nameOf(goType reflect.Type) string {
	if goType.Kind() == reflect.Pointer {
		return "*" + nameOf(goType.Elem())
	}
	return goType.PkgPath() + "." + goType.Name()
}

// pack returns nil for nil. The role describes the value in errors.
func (k knownTypes) pack(role string, value any) (*carried, error) {
	switch value := value.(type) {
	case nil:
		return nil, nil
	case types.UnstructurableMap:
		content, err := numeric(value)
		return &carried{Type: mapType, Map: content}, err
	case *unstructured.Unstructured:
		return &carried{Type: unstructuredType, Map: value.Object}, nil
	}
	name := nameOf(reflect.TypeOf(value))
	if _, ok := k[name]; !ok {
		return nil, fmt.Errorf("the Go type %T of the %s is not known to the isolated generator; add a value of it to Types of its definition", value, role)
	}
	encoded, err := encode(reflect.ValueOf(value), 0)
	if err != nil {
		return nil, fmt.Errorf("sending the %s of type %T: %w", role, value, err)
	}
	return &carried{Type: name, Value: encoded}, nil
}

func (k knownTypes) unpack(packed *carried) (any, error) {
	switch packed.Type {
	case mapType:
		return types.UnstructurableMap(packed.Map), nil
	case unstructuredType:
		return &unstructured.Unstructured{Object: packed.Map}, nil
	}
	goType, ok := k[packed.Type]
	if !ok {
		return nil, fmt.Errorf("the Go type %s is not known", packed.Type)
	}
	value := reflect.New(goType).Elem()
	if err := decode(packed.Value, value); err != nil {
		return nil, fmt.Errorf("receiving a %s: %w", goType, err)
	}
	return value.Interface(), nil
}

func (k knownTypes) unpackParameters(packed *carried) (types.Unstructurable, error) {
	if packed == nil {
		return nil, nil
	}
	value, err := k.unpack(packed)
	if err != nil {
		return nil, err
	}
	parameters, ok := value.(types.Unstructurable)
	if !ok {
		return nil, fmt.Errorf("parameters of type %T are not Unstructurable", value)
	}
	return parameters, nil
}

func (k knownTypes) unpackComponent(packed *carried) (client.Object, error) {
	value, err := k.unpack(packed)
	if err != nil {
		return nil, err
	}
	component, ok := value.(client.Object)
	if !ok {
		return nil, fmt.Errorf("a component of type %T is not an object", value)
	}
	return component, nil
}

// numeric returns a copy with the types of manifests. A json.Number would arrive as text.
func numeric(content map[string]any) (map[string]any, error) {
	if content == nil {
		return nil, nil
	}
	return values.Normalize(content)
}

// numericValue is numeric for a value of any type.
func numericValue(value any) (any, error) {
	content, err := numeric(map[string]any{"value": value})
	return content["value"], err
}
