// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Carry completes the content of an object that replaces the live one: it adds the fields that must stay although the
// manifest does not declare them, see Surplus, those that were written through a subresource, and those at or below the
// given paths. The number of replicas is one of them in any case: the API server does not always record the client that
// scaled an object. It adds no field of a list item that the content does not have, and no caBundle without the
// configuration around it.
func Carry(kind schema.GroupKind, live, content map[string]any, entries []metav1.ManagedFieldsEntry, paths ...fieldpath.Path) error {
	if status, ok := live["status"]; ok {
		content["status"] = runtime.DeepCopyJSONValue(status)
	}
	carry(live, content, replicas, false)
	for _, entry := range entries {
		set, err := parse(entry)
		if err != nil {
			return err
		}
		for path := range set.Leaves().All() {
			switch {
			case entry.Subresource == "status":
			case entry.Subresource != "", IsWithin(path, paths), exempt(kind, path) && !isField(path, 0, "status") && !hasField(path, "caBundle"):
				carry(live, content, path, true)
			case hasField(path, "caBundle"):
				carry(live, content, path, false)
			}
		}
	}
	return nil
}

var replicas = fieldpath.MakePathOrDie("spec", "replicas")

// InOtherVersions returns the fields that managers other than the given one have written in another API version, and
// that need not stay: they may have other names in this one.
func InOtherVersions(kind schema.GroupKind, entries []metav1.ManagedFieldsEntry, manager, apiVersion string) ([]fieldpath.Path, error) {
	var found []fieldpath.Path
	err := eachOfOthers(entries, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) {
		if entry.Subresource != "" || entry.APIVersion == apiVersion {
			return
		}
		for path := range set.Leaves().All() {
			if !exempt(kind, path) {
				found = append(found, slices.Clone(path))
			}
		}
	})
	return found, err
}

// carry copies a field of live to content, which it changes, unless content has it. Create also creates the maps around
// the field.
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
