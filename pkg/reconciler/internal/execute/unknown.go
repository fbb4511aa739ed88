// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/fieldset"
)

// undeclaredField matches how the server names a field that is not in the schema of a type.
var undeclaredField = regexp.MustCompile(`(\.[^\s:]+): field not declared in schema`)

// Undeclared returns the unknown fields because of which an apply was refused, sorted. Other writes drop such fields
// with a warning, but an apply is refused.
func Undeclared(err error) []string {
	var fields []string
	for _, match := range undeclaredField.FindAllStringSubmatch(err.Error(), -1) {
		fields = append(fields, match[1])
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// Prune removes the fields from the object and reports whether that changed it.
func Prune(object *unstructured.Unstructured, fields []string) bool {
	changed := false
	for _, field := range fields {
		path, err := fieldset.ParsePath(field)
		if err != nil {
			return false
		}
		if fieldset.Exists(object.Object, path) {
			fieldset.Remove(object.Object, []fieldpath.Path{path}, nil)
			changed = true
		}
	}
	return changed
}
