// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Carry completes the content of an object that replaces the live one: it adds the fields that must stay although the manifest does not declare them, see Surplus,
// and those at or below the given paths. It adds no field of a list item that the content does not have, and no caBundle without the configuration
// around it.
func Carry(kind schema.GroupKind, live, content map[string]any, entries []metav1.ManagedFieldsEntry, paths ...fieldpath.Path) error {
	if status, ok := live["status"]; ok {
		content["status"] = runtime.DeepCopyJSONValue(status)
	}
	for _, entry := range entries {
		set, err := parse(entry)
		if err != nil {
			return err
		}
		for path := range set.Leaves().All() {
			switch {
			case IsWithin(path, paths), exempt(kind, path) && !isField(path, 0, "status") && !hasField(path, "caBundle"):
				carry(live, content, path, true)
			case hasField(path, "caBundle"):
				carry(live, content, path, false)
			}
		}
	}
	return nil
}

// carry copies a field of live to content, which it changes, unless content has it. Create also creates the maps around the field.
func carry(live, content any, path fieldpath.Path, create bool) {
	for i, element := range path {
		var found bool
		if live, found = Lookup(live, path[i:i+1]); !found {
			return
		}
		node, isMap := content.(map[string]any)
		child, exists := Lookup(content, path[i:i+1])
		switch {
		case exists:
			content = child
			continue
		case !isMap || element.FieldName == nil:
			return
		case i == len(path)-1 || path[i+1].FieldName == nil:
			node[*element.FieldName] = runtime.DeepCopyJSONValue(live)
			return
		case !create:
			return
		}
		content = map[string]any{}
		node[*element.FieldName] = content
	}
}
