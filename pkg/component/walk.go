// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// occurrence is a reference in a spec.
type occurrence struct {
	// Path is the path in JSON, such as spec.users[0].passwordRef.
	Path string
	// Value is a pointer to the reference, or the implementation of the extension.
	Value any
	// tag is the tag of the nearest struct field on the way to the reference.
	tag reflect.StructTag
	// Target reports whether the reference determines the cluster of the dependents.
	Target bool
}

func (o occurrence) at(suffix string) occurrence {
	o.Path += suffix
	return o
}

// FallbackKeys returns the keys to try if the reference names none.
func (o occurrence) FallbackKeys() []string {
	var keys []string
	for key := range strings.SplitSeq(o.tag.Get("fallbackKeys"), ",") {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// IgnoredOnDeletion reports whether the object may be missing while the component is being deleted.
func (o occurrence) IgnoredOnDeletion() bool {
	return o.tag.Get("notFoundPolicy") == "ignoreOnDeletion"
}

// walker finds references in specs. It is safe for concurrent use.
type walker struct {
	// extension is an interface whose implementations count as references, too; may be nil.
	extension reflect.Type
}

// referenceTypes are the references of this package.
var referenceTypes = []reflect.Type{
	reflect.TypeFor[ConfigMapReference](), reflect.TypeFor[ConfigMapKeyReference](),
	reflect.TypeFor[SecretReference](), reflect.TypeFor[SecretKeyReference](),
}

// walk calls visit for each reference in the value that spec points to. Map values are visited as copies and put back
// afterwards, in the order of their keys.
func (w walker) walk(spec any, visit func(occurrence) error) error {
	value := reflect.ValueOf(spec)
	if !value.IsValid() {
		return nil
	}
	return w.visit(value, occurrence{Path: "spec"}, visit)
}

func (w walker) visit(value reflect.Value, at occurrence, visit func(occurrence) error) error {
	if leaf, byValue := w.isLeaf(value.Type()); leaf {
		return visitLeaf(byValue, value, at, visit)
	}
	// All other kinds are scalars, or hold nothing that JSON could fill.
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return w.visit(value.Elem(), at, visit)
	case reflect.Interface:
		// A value in an interface can be changed only behind a pointer.
		if value.IsNil() || value.Elem().Kind() != reflect.Pointer {
			return nil
		}
		return w.visit(value.Elem(), at, visit)
	case reflect.Struct:
		return w.visitStruct(value, at, visit)
	case reflect.Slice, reflect.Array:
		if isScalar(value.Type().Elem()) {
			return nil
		}
		for i := range value.Len() {
			if err := w.visit(value.Index(i), at.at("["+strconv.Itoa(i)+"]"), visit); err != nil {
				return err
			}
		}
	case reflect.Map:
		if !isScalar(value.Type().Elem()) {
			return w.visitMap(value, at, visit)
		}
	}
	return nil
}

// isScalar reports whether values of a type consist of no others. Texts and bytes may be large.
func isScalar(t reflect.Type) bool {
	return t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String
}

func visitLeaf(byValue bool, value reflect.Value, at occurrence, visit func(occurrence) error) error {
	if !byValue {
		if !value.CanAddr() {
			return fmt.Errorf("reference %s cannot be loaded, because its address is not known", at.Path)
		}
		value = value.Addr()
	}
	if value.Kind() == reflect.Pointer && value.IsNil() {
		return nil
	}
	at.Value = value.Interface()
	return visit(at)
}

func (w walker) visitStruct(value reflect.Value, at occurrence, visit func(occurrence) error) error {
	at.Target = at.Target || value.Type() == reflect.TypeFor[KubeConfigSpec]()
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if !isVisited(field) {
			continue
		}
		inner, name := at, jsonName(field)
		if !w.isEmbeddedReference(field) {
			inner.tag = field.Tag
		}
		if name != "" {
			inner.Path += "." + name
		}
		if err := w.visit(value.Field(i), inner, visit); err != nil {
			return err
		}
	}
	return nil
}

// isVisited reports whether a field of a struct may have references.
func isVisited(field reflect.StructField) bool {
	return field.IsExported() || field.Anonymous && field.Type.Kind() == reflect.Struct
}

// isEmbeddedReference reports whether the field turns the surrounding struct into a reference and has no tags of its
// own. Then the tags of the field that holds the struct apply.
func (w walker) isEmbeddedReference(field reflect.StructField) bool {
	_, keys := field.Tag.Lookup("fallbackKeys")
	_, policy := field.Tag.Lookup("notFoundPolicy")
	leaf, _ := w.isLeaf(field.Type)
	return jsonName(field) == "" && leaf && !keys && !policy
}

func (w walker) visitMap(value reflect.Value, at occurrence, visit func(occurrence) error) error {
	type entry struct {
		text string
		key  reflect.Value
	}
	entries := make([]entry, 0, value.Len())
	for _, key := range value.MapKeys() {
		entries = append(entries, entry{text: fmt.Sprint(key.Interface()), key: key})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.text, b.text) })
	for _, e := range entries {
		item := reflect.New(value.Type().Elem()).Elem()
		item.Set(value.MapIndex(e.key))
		if err := w.visit(item, at.at("["+strconv.Quote(e.text)+"]"), visit); err != nil {
			return err
		}
		value.SetMapIndex(e.key, item)
	}
	return nil
}

// isLeaf reports whether values of the type are references, and whether their methods need no pointer. A struct that
// embeds one of our references has its methods, but may hold further references; so it is no leaf.
func (w walker) isLeaf(t reflect.Type) (leaf bool, byValue bool) {
	switch {
	case slices.Contains(referenceTypes, t):
		return true, false
	case w.extension == nil || t.Kind() == reflect.Interface:
		return false, false
	case t.Implements(w.extension):
		return true, true
	default:
		return t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(w.extension), false
	}
}

// jsonName returns the name of a field in JSON; empty if the field is inlined.
func jsonName(field reflect.StructField) string {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case name != "" && name != "-":
		return name
	case field.Anonymous && (name == "" || strings.Contains(options, "inline")):
		return ""
	default:
		return field.Name
	}
}
