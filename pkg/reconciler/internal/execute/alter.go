// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Alterations compares the manifest with the stored object, and returns what admission changed. It compares scalars, and lists
// only if they have kept their length: additions and normalisations are no alterations, and neither are defaults in place of
// the zero values that typed objects have. The texts contain no values, because they may be secret.
func Alterations(declared, stored *unstructured.Unstructured, scheme *runtime.Scheme) []string {
	var texts []string
	for _, field := range slices.Sorted(maps.Keys(declared.Object)) {
		if field == "apiVersion" || field == "kind" || field == "metadata" || field == "status" {
			continue
		}
		compareValues([]string{"." + field}, declared.Object[field], stored.Object[field], func(path []string, value any) {
			if !isUnset(value, path, declared.GroupVersionKind(), scheme) {
				texts = append(texts, "admission changed "+strings.Join(path, ""))
			}
		})
	}
	return texts
}

// compareValues calls differ with the path and the declared value of each difference.
func compareValues(path []string, declared, stored any, differ func(path []string, declared any)) {
	switch declared := declared.(type) {
	case nil:
		// A declared null leaves the value to the server.
	case map[string]any:
		actual, ok := stored.(map[string]any)
		if !ok {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(declared)) {
			compareValues(append(path, "."+key), declared[key], actual[key], differ)
		}
	case []any:
		actual, ok := stored.([]any)
		if !ok || len(actual) != len(declared) {
			return
		}
		for i := range declared {
			compareValues(append(path, fmt.Sprintf("[%d]", i)), declared[i], actual[i], differ)
		}
	default:
		if stored != nil && !sameValue(declared, stored) {
			differ(path, declared)
		}
	}
}

// isUnset reports whether a declared value means that the field is not set: it is 0 or empty, and the Go type has no pointer there that would tell the
// difference. Booleans are set: none of them is true by default without a pointer.
func isUnset(value any, path []string, gvk schema.GroupVersionKind, scheme *runtime.Scheme) bool {
	if text := fmt.Sprint(value); text != "" && text != "0" {
		return false
	}
	object, err := scheme.New(gvk)
	if err != nil {
		return false
	}
	t := reflect.TypeOf(object)
	for _, element := range path {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case t.Kind() == reflect.Slice:
			t = t.Elem()
		case t.Kind() == reflect.Struct:
			if t = fieldType(t, element[1:]); t == nil {
				return false
			}
		default:
			return false
		}
	}
	return t.Kind() != reflect.Pointer && !strings.HasPrefix(path[len(path)-1], "[")
}

// fieldType returns the type of a field by its name in JSON; nil if there is none.
func fieldType(t reflect.Type, name string) reflect.Type {
	for _, field := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return field.Type
		}
	}
	return nil
}

// sameValue compares scalars as JSON, where integers of different Go types are equal, or as quantities, which the server
// normalises.
func sameValue(a, b any) bool {
	first, errFirst := json.Marshal(a)
	second, errSecond := json.Marshal(b)
	if errFirst != nil || errSecond != nil || string(first) == string(second) {
		return true
	}
	x, errX := resource.ParseQuantity(fmt.Sprint(a))
	y, errY := resource.ParseQuantity(fmt.Sprint(b))
	return errX == nil && errY == nil && x.Cmp(y) == 0
}
