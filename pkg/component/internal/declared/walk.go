// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package declared

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Occurrence is a reference in a spec.
type Occurrence struct {
	// Path is the path in JSON, such as spec.users[0].passwordRef.
	Path string
	// Value is a pointer to the reference, or the implementation of the extension.
	Value any
	// tag is the tag of the nearest struct field on the way to the reference.
	tag reflect.StructTag
	// Target reports whether the reference determines the cluster of the dependents.
	Target bool
}

func (o Occurrence) at(suffix string) Occurrence {
	o.Path += suffix
	return o
}

// FallbackKeys returns the keys to try if the reference names none.
func (o Occurrence) FallbackKeys() []string {
	var keys []string
	for key := range strings.SplitSeq(o.tag.Get("fallbackKeys"), ",") {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// IgnoredOnDeletion reports whether the object may be missing while the component is being deleted.
func (o Occurrence) IgnoredOnDeletion() bool {
	return o.tag.Get("notFoundPolicy") == "ignoreOnDeletion"
}

// Walker finds references in specs. It analyzes each type once, and skips fields that cannot contain references. It is safe for concurrent use.
type Walker struct {
	// Leaves are the types of references.
	Leaves []reflect.Type
	// Extension is an interface whose implementations count as references, too; may be nil.
	Extension reflect.Type
	// TargetType is the type of structs whose references determine the cluster of the dependents.
	TargetType reflect.Type
	plans      sync.Map // reflect.Type to *plan
}

type planKind int

const (
	planNothing planKind = iota // cannot contain references
	planLeaf                    // is a reference
	planPointer
	planInterface
	planStruct
	planList
	planMap
)

// plan says where to look for references in values of one type.
type plan struct {
	kind    planKind
	byValue bool // a leaf that is used as it is, and not by its address
	elem    *plan
	fields  []planField
	reaches bool // whether there may be a reference at all
}

type planField struct {
	index int
	name  string // empty for inlined structs
	tag   reflect.StructTag
	plan  *plan
}

// isEmbeddedReference reports whether the field turns the surrounding struct into a reference and has no tags of its own. Then the tags of the field
// that holds the struct apply.
func (f planField) isEmbeddedReference() bool {
	_, keys := f.tag.Lookup("fallbackKeys")
	_, policy := f.tag.Lookup("notFoundPolicy")
	return f.name == "" && f.plan.kind == planLeaf && !keys && !policy
}

// Walk calls visit for each reference in the value that spec points to. Map values are visited as copies and put back afterwards, in the order of
// their keys.
func (w *Walker) Walk(spec any, visit func(Occurrence) error) error {
	value := reflect.ValueOf(spec)
	if !value.IsValid() {
		return nil
	}
	return w.visit(w.planOf(value.Type()), value, Occurrence{Path: "spec"}, visit)
}

func (w *Walker) visit(p *plan, value reflect.Value, at Occurrence, visit func(Occurrence) error) error {
	if !p.reaches {
		return nil
	}
	switch p.kind {
	case planLeaf:
		return visitLeaf(p, value, at, visit)
	case planPointer:
		if value.IsNil() {
			return nil
		}
		return w.visit(p.elem, value.Elem(), at, visit)
	case planInterface:
		// A value in an interface can be changed only behind a pointer.
		if value.IsNil() || value.Elem().Kind() != reflect.Pointer {
			return nil
		}
		return w.visit(w.planOf(value.Elem().Type()), value.Elem(), at, visit)
	case planStruct:
		return w.visitStruct(p, value, at, visit)
	case planList:
		for i := range value.Len() {
			if err := w.visit(p.elem, value.Index(i), at.at("["+strconv.Itoa(i)+"]"), visit); err != nil {
				return err
			}
		}
	case planMap:
		return w.visitMap(p, value, at, visit)
	case planNothing:
	}
	return nil
}

func visitLeaf(p *plan, value reflect.Value, at Occurrence, visit func(Occurrence) error) error {
	if !p.byValue {
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

func (w *Walker) visitStruct(p *plan, value reflect.Value, at Occurrence, visit func(Occurrence) error) error {
	at.Target = at.Target || value.Type() == w.TargetType
	for _, field := range p.fields {
		inner := at
		if !field.isEmbeddedReference() {
			inner.tag = field.tag
		}
		if field.name != "" {
			inner.Path += "." + field.name
		}
		if err := w.visit(field.plan, value.Field(field.index), inner, visit); err != nil {
			return err
		}
	}
	return nil
}

func (w *Walker) visitMap(p *plan, value reflect.Value, at Occurrence, visit func(Occurrence) error) error {
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
		if err := w.visit(p.elem, item, at.at("["+strconv.Quote(e.text)+"]"), visit); err != nil {
			return err
		}
		value.SetMapIndex(e.key, item)
	}
	return nil
}

// Reaches reports whether values of a type may contain references.
func (w *Walker) Reaches(t reflect.Type) bool { return w.planOf(t).reaches }

func (w *Walker) planOf(t reflect.Type) *plan {
	if known, ok := w.plans.Load(t); ok {
		if p, ok := known.(*plan); ok {
			return p
		}
	}
	compiling := map[reflect.Type]*plan{}
	p := w.compile(t, compiling)
	markReaches(compiling)
	w.plans.Store(t, p)
	return p
}

// compile may find a type within itself. It then refers to the unfinished plan.
func (w *Walker) compile(t reflect.Type, compiling map[reflect.Type]*plan) *plan {
	if p, ok := compiling[t]; ok {
		return p
	}
	p := &plan{}
	compiling[t] = p
	if leaf, byValue := w.isLeaf(t); leaf {
		p.kind, p.byValue = planLeaf, byValue
		return p
	}
	// All other kinds are scalars, or hold nothing that JSON could fill.
	switch t.Kind() {
	case reflect.Pointer:
		p.kind, p.elem = planPointer, w.compile(t.Elem(), compiling)
	case reflect.Interface:
		p.kind = planInterface
	case reflect.Slice, reflect.Array:
		p.kind, p.elem = planList, w.compile(t.Elem(), compiling)
	case reflect.Map:
		p.kind, p.elem = planMap, w.compile(t.Elem(), compiling)
	case reflect.Struct:
		p.kind = planStruct
		for i := range t.NumField() {
			field := t.Field(i)
			if field.IsExported() || (field.Anonymous && field.Type.Kind() == reflect.Struct) {
				p.fields = append(p.fields, planField{index: i, name: JSONName(field), tag: field.Tag, plan: w.compile(field.Type, compiling)})
			}
		}
	}
	return p
}

// isLeaf reports whether values of the type are references, and whether their methods need no pointer. A struct that embeds one of our references has
// its methods, but may hold further references; so it is no leaf.
func (w *Walker) isLeaf(t reflect.Type) (leaf bool, byValue bool) {
	switch {
	case slices.Contains(w.Leaves, t):
		return true, false
	case w.Extension == nil || t.Kind() == reflect.Interface:
		return false, false
	case t.Implements(w.Extension):
		return true, true
	default:
		return t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(w.Extension), false
	}
}

// JSONName returns the name of a field in JSON; empty if the field is inlined.
func JSONName(field reflect.StructField) string {
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

// markReaches follows the plans, which may be circular, until nothing changes.
func markReaches(plans map[reflect.Type]*plan) {
	for changed := true; changed; {
		changed = false
		for _, p := range plans {
			if !p.reaches && p.mayReach() {
				p.reaches, changed = true, true
			}
		}
	}
}

func (p *plan) mayReach() bool {
	if p.kind == planLeaf || p.kind == planInterface || (p.elem != nil && p.elem.reaches) {
		return true
	}
	return slices.ContainsFunc(p.fields, func(field planField) bool { return field.plan.reaches })
}
