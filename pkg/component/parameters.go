// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// tagLoadedAs is the tag of a struct field with a reference that says under which name the loaded content replaces the
// reference; "-" drops the reference.
const tagLoadedAs = "loadedAs"

// converter converts specs to the parameters of generators.
type converter struct{ walker }

// ownSpecs are the types of structs that are meant for the reconciler. Fields that embed them are left out.
var ownSpecs = []reflect.Type{
	reflect.TypeFor[Spec](), reflect.TypeFor[PlacementSpec](), reflect.TypeFor[ClientSpec](), reflect.TypeFor[ImpersonationSpec](), reflect.TypeFor[SuspensionSpec](),
	reflect.TypeFor[PresenceSpec](), reflect.TypeFor[RequeueSpec](), reflect.TypeFor[RetrySpec](), reflect.TypeFor[TimeoutSpec](), reflect.TypeFor[ReapplySpec](),
	reflect.TypeFor[PolicySpec](), reflect.TypeFor[ReconcileSpec](), reflect.TypeFor[DriftSpec](), reflect.TypeFor[TypeSpec](), reflect.TypeFor[DeletionSpec](),
}

// convert returns what a spec, a pointer to a struct, is in JSON, without the fields for the reconciler, and with the
// content of the references that have the tag loadedAs.
func (c converter) convert(spec any) (map[string]any, error) {
	value := reflect.ValueOf(spec)
	if value.Kind() != reflect.Pointer || value.IsNil() || value.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("a spec must be a pointer to a struct, but is of type %T", spec)
	}
	spare := copyOf(value.Elem())
	c.clearOwn(spare)
	parameters, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spare.Addr().Interface())
	if err != nil {
		return nil, fmt.Errorf("a spec of type %T has no JSON form: %w", spec, err)
	}
	c.dropNames(spare.Type(), parameters)
	return parameters, c.fill(spare, parameters)
}

// clearOwn clears embedded structs for the reconciler in a struct that is a copy.
func (c converter) clearOwn(spare reflect.Value) {
	for i := range spare.NumField() {
		field, value := spare.Type().Field(i), spare.Field(i)
		switch {
		case !field.Anonymous:
		case slices.Contains(ownSpecs, structOf(field.Type)) && value.CanSet():
			value.SetZero()
		case value.Kind() == reflect.Struct:
			c.clearOwn(value)
		case value.Kind() == reflect.Pointer && value.CanSet() && !value.IsNil() && value.Elem().Kind() == reflect.Struct:
			inner := copyOf(value.Elem())
			c.clearOwn(inner)
			value.Set(inner.Addr())
		}
	}
}

// copyOf returns a copy that can be changed.
func copyOf(value reflect.Value) reflect.Value {
	spare := reflect.New(value.Type()).Elem()
	spare.Set(value)
	return spare
}

// dropNames drops embedded structs for the reconciler that have a name in JSON.
func (c converter) dropNames(t reflect.Type, parameters map[string]any) {
	for i := range t.NumField() {
		field := t.Field(i)
		switch name := jsonName(field); {
		case !field.Anonymous:
		case slices.Contains(ownSpecs, structOf(field.Type)):
			delete(parameters, name)
		case name == "" && structOf(field.Type).Kind() == reflect.Struct:
			c.dropNames(structOf(field.Type), parameters)
		}
	}
}

// structOf returns the type to which a pointer points, and any other type as it is.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// fill replaces references by their content. The content is the JSON form of the value.
func (c converter) fill(value reflect.Value, content any) error {
	if leaf, _ := c.isLeaf(value.Type()); leaf || content == nil {
		return nil
	}
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			return c.fill(value.Elem(), content)
		}
	case reflect.Interface:
		if value.Elem().Kind() == reflect.Pointer {
			return c.fill(value.Elem(), content)
		}
	case reflect.Struct:
		if fields, ok := content.(map[string]any); ok {
			return c.fillStruct(value, fields)
		}
	case reflect.Slice, reflect.Array:
		if items, ok := content.([]any); ok && len(items) == value.Len() {
			return c.fillList(value, items)
		}
	case reflect.Map:
		if items, ok := content.(map[string]any); ok {
			return c.fillMap(value, items)
		}
	}
	return nil
}

func (c converter) fillList(value reflect.Value, content []any) error {
	for i, item := range content {
		if err := c.fill(value.Index(i), item); err != nil {
			return err
		}
	}
	return nil
}

func (c converter) fillMap(value reflect.Value, content map[string]any) error {
	for _, key := range value.MapKeys() {
		if err := c.fill(value.MapIndex(key), content[fmt.Sprint(key.Interface())]); err != nil {
			return err
		}
	}
	return nil
}

func (c converter) fillStruct(value reflect.Value, content map[string]any) error {
	loaded := map[string]any{}
	for i := range value.NumField() {
		field, inner := value.Type().Field(i), value.Field(i)
		if !isVisited(field) {
			continue
		}
		name, loadedAs := jsonName(field), field.Tag.Get(tagLoadedAs)
		switch {
		case loadedAs != "" && !c.isReference(field.Type):
			return fmt.Errorf("field %s of type %s has the tag %s:%q, but holds no reference to a ConfigMap or Secret", field.Name, value.Type(), tagLoadedAs, loadedAs)
		case loadedAs != "":
			given := content[name]
			delete(content, name)
			found, set := c.loaded(inner)
			if given == nil || !set || loadedAs == "-" {
				continue
			}
			if _, taken := loaded[loadedAs]; taken {
				return fmt.Errorf("two references in a value of type %s have the tag %s:%q, and both are set", value.Type(), tagLoadedAs, loadedAs)
			}
			loaded[loadedAs] = found
		case name == "":
			if err := c.fill(inner, content); err != nil {
				return err
			}
		default:
			if err := c.fill(inner, content[name]); err != nil {
				return err
			}
		}
	}
	maps.Copy(content, loaded)
	return nil
}

// isReference reports whether values of a type are references: one, or lists or maps of them.
func (c converter) isReference(t reflect.Type) bool {
	if leaf, _ := c.isLeaf(t); leaf {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return c.isReference(t.Elem())
	case reflect.Struct:
		return c.embedded(t) >= 0
	default:
		return false
	}
}

// embedded returns the index of the embedded field that makes a struct a reference; -1 if there is none.
func (c converter) embedded(t reflect.Type) int {
	for i := range t.NumField() {
		if isVisited(t.Field(i)) && c.isEmbeddedReference(t.Field(i)) {
			return i
		}
	}
	return -1
}

// loaded returns the content of references; false if there is none.
func (c converter) loaded(value reflect.Value) (content any, set bool) {
	if leaf, _ := c.isLeaf(value.Type()); leaf {
		if !value.CanAddr() { // the value of a map
			value = copyOf(value)
		}
		reference, ok := value.Addr().Interface().(objectReference)
		if !ok {
			return nil, false
		}
		if _, name := reference.target(); name == "" {
			return nil, false
		}
		return reference.content(), true
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil, false
		}
		return c.loaded(value.Elem())
	case reflect.Struct:
		return c.loaded(value.Field(c.embedded(value.Type())))
	case reflect.Slice, reflect.Array:
		list := make([]any, value.Len())
		for i := range list {
			list[i], _ = c.loaded(value.Index(i))
		}
		return list, true
	case reflect.Map:
		items := map[string]any{}
		for _, key := range value.MapKeys() {
			items[fmt.Sprint(key.Interface())], _ = c.loaded(value.MapIndex(key))
		}
		return items, true
	default:
		return nil, false
	}
}
