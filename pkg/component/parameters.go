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

// tagLoadedAs is the struct tag of a reference with the name under which its loaded content replaces it; "-" drops the
// reference.
const tagLoadedAs = "loadedAs"

// ownSpecs are the types of structs for the reconciler itself. Fields that embed them are omitted.
var ownSpecs = []reflect.Type{
	reflect.TypeFor[Spec](), reflect.TypeFor[PlacementSpec](), reflect.TypeFor[ClientSpec](), reflect.TypeFor[ImpersonationSpec](), reflect.TypeFor[SuspensionSpec](),
	reflect.TypeFor[PresenceSpec](), reflect.TypeFor[RequeueSpec](), reflect.TypeFor[RetrySpec](), reflect.TypeFor[TimeoutSpec](), reflect.TypeFor[ReapplySpec](),
	reflect.TypeFor[PolicySpec](), reflect.TypeFor[ReconcileSpec](), reflect.TypeFor[DriftSpec](), reflect.TypeFor[TypeSpec](), reflect.TypeFor[DeletionSpec](),
	reflect.TypeFor[DependencySpec](),
}

// parametersOf returns the JSON form of a spec, a pointer to a struct, without the fields for the reconciler, and with
// the content of references that have the tag loadedAs.
func parametersOf(spec any) (map[string]any, error) {
	value := reflect.ValueOf(spec)
	if value.Kind() != reflect.Pointer || value.IsNil() || value.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("a spec must be a pointer to a struct, but is of type %T", spec)
	}
	spare := copyOf(value.Elem())
	own := clearOwn(spare)
	parameters, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spare.Addr().Interface())
	if err != nil {
		return nil, fmt.Errorf("a spec of type %T has no JSON form: %w", spec, err)
	}
	for _, name := range own {
		delete(parameters, name)
	}
	return parameters, fillIn(spare, parameters)
}

// clearOwn clears embedded structs for the reconciler in a struct that is a copy. It returns their names in JSON; those
// without a name add nothing to it.
func clearOwn(spare reflect.Value) (names []string) {
	for i := range spare.NumField() {
		field, value := spare.Type().Field(i), spare.Field(i)
		var inner []string
		switch {
		case !field.Anonymous:
		case isOwnSpec(field.Type) && value.CanSet():
			value.SetZero()
			names = append(names, jsonName(field))
		case value.Kind() == reflect.Struct:
			inner = clearOwn(value)
		case value.Kind() == reflect.Pointer && value.CanSet() && !value.IsNil() && value.Elem().Kind() == reflect.Struct:
			content := copyOf(value.Elem())
			inner = clearOwn(content)
			value.Set(content.Addr())
		}
		if jsonName(field) == "" {
			names = append(names, inner...)
		}
	}
	return names
}

// isOwnSpec reports whether a type is one of ownSpecs, or a pointer to one.
func isOwnSpec(t reflect.Type) bool {
	return slices.Contains(ownSpecs, t) || t.Kind() == reflect.Pointer && slices.Contains(ownSpecs, t.Elem())
}

// copyOf returns a copy that can be changed.
func copyOf(value reflect.Value) reflect.Value {
	spare := reflect.New(value.Type()).Elem()
	spare.Set(value)
	return spare
}

// fillIn replaces references by their content. The content is the JSON form of the value.
func fillIn(value reflect.Value, content any) error {
	if isObjectReference(value.Type()) || content == nil {
		return nil
	}
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			return fillIn(value.Elem(), content)
		}
	case reflect.Interface:
		if value.Elem().Kind() == reflect.Pointer {
			return fillIn(value.Elem(), content)
		}
	case reflect.Struct:
		if fields, ok := content.(map[string]any); ok {
			return fillStruct(value, fields)
		}
	case reflect.Slice, reflect.Array:
		if items, ok := content.([]any); ok && len(items) == value.Len() {
			return fillList(value, items)
		}
	case reflect.Map:
		if items, ok := content.(map[string]any); ok {
			return fillMap(value, items)
		}
	}
	return nil
}

func fillList(value reflect.Value, content []any) error {
	for i, item := range content {
		if err := fillIn(value.Index(i), item); err != nil {
			return err
		}
	}
	return nil
}

func fillMap(value reflect.Value, content map[string]any) error {
	for _, key := range value.MapKeys() {
		if err := fillIn(value.MapIndex(key), content[fmt.Sprint(key)]); err != nil {
			return err
		}
	}
	return nil
}

func fillStruct(value reflect.Value, content map[string]any) error {
	loaded := map[string]any{}
	for i := range value.NumField() {
		field, inner := value.Type().Field(i), value.Field(i)
		if !isVisited(field) {
			continue
		}
		name, loadedAs := jsonName(field), field.Tag.Get(tagLoadedAs)
		switch {
		case loadedAs != "" && !isReference(field.Type):
			return fmt.Errorf("field %s of type %s has the tag %s:%q, but holds no reference to a ConfigMap or Secret", field.Name, value.Type(), tagLoadedAs, loadedAs)
		case loadedAs != "":
			given := content[name]
			delete(content, name)
			found, set := contentOf(inner)
			if given == nil || !set || loadedAs == "-" {
				continue
			}
			if _, taken := loaded[loadedAs]; taken {
				return fmt.Errorf("two references in a value of type %s have the tag %s:%q, and both are set", value.Type(), tagLoadedAs, loadedAs)
			}
			loaded[loadedAs] = found
		default:
			nested := any(content)
			if name != "" {
				nested = content[name]
			}
			if err := fillIn(inner, nested); err != nil {
				return err
			}
		}
	}
	maps.Copy(content, loaded)
	return nil
}

// isReference reports whether values of a type are references: one, or lists or maps of them.
func isReference(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return isReference(t.Elem())
	case reflect.Struct:
		return isObjectReference(t) || embeddedReference(t) >= 0
	default:
		return false
	}
}

// embeddedReference returns the index of the embedded field that makes a struct a reference; -1 if there is none.
func embeddedReference(t reflect.Type) int {
	for i := range t.NumField() {
		if isVisited(t.Field(i)) && (walker{}).isEmbeddedReference(t.Field(i)) {
			return i
		}
	}
	return -1
}

// contentOf returns the content of references; false if there is none.
func contentOf(value reflect.Value) (content any, set bool) {
	if isObjectReference(value.Type()) {
		if !value.CanAddr() { // the value of a map
			value = copyOf(value)
		}
		reference, _ := value.Addr().Interface().(objectReference)
		if data, ok := reference.(dataReference); ok {
			if _, name := data.target(); name == "" {
				return nil, false
			}
		}
		return reference.content(), true
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil, false
		}
		return contentOf(value.Elem())
	case reflect.Struct:
		return contentOf(value.Field(embeddedReference(value.Type())))
	case reflect.Slice, reflect.Array:
		list := make([]any, value.Len())
		for i := range list {
			list[i], _ = contentOf(value.Index(i))
		}
		return list, true
	case reflect.Map:
		items := map[string]any{}
		for _, key := range value.MapKeys() {
			items[fmt.Sprint(key)], _ = contentOf(value.MapIndex(key))
		}
		return items, true
	default:
		return nil, false
	}
}
