// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Merge returns what live would become if manager applied the manifest by force, as far as that is known without the
// server: field ownership shows which lists are merged item by item, and by which keys. Merge sets no defaults, and
// changes neither argument.
func Merge(live, manifest map[string]any, entries []metav1.ManagedFieldsEntry, manager string) (map[string]any, error) {
	owned, others := fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range entries {
		set, err := parse(entry)
		if err != nil {
			return nil, err
		}
		if applied(entry, manager) {
			owned = owned.Union(set)
		} else {
			others = others.Union(set)
		}
	}
	result := runtime.DeepCopyJSON(live)
	var dropped []fieldpath.Path
	for path := range owned.Difference(others).All() {
		if !Exists(manifest, path) && !containsBelow(others, path) {
			dropped = append(dropped, slices.Clone(path))
		}
	}
	Remove(result, dropped, nil)
	merged, _ := merge(result, runtime.DeepCopyJSON(manifest), owned.Union(others)).(map[string]any)
	return merged, nil
}

// merge merges a declared value into an actual one; owned has the owned fields below it.
func merge(actual, declared any, owned *fieldpath.Set) any {
	switch declared := declared.(type) {
	case map[string]any:
		node, ok := actual.(map[string]any)
		if !ok {
			return declared
		}
		for key, child := range declared {
			node[key] = merge(node[key], child, owned.WithPrefix(fieldpath.FieldNameElement(key)))
		}
		return node
	case []any:
		if node, ok := actual.([]any); ok {
			return mergeList(node, declared, owned)
		}
		return declared
	default:
		return declared
	}
}

// mergeList keeps items of others if field ownership shows that the items of the list have owners.
func mergeList(actual, declared []any, owned *fieldpath.Set) any {
	sample, associative := anItem(owned)
	if !associative {
		return declared
	}
	for _, item := range declared {
		element := identify(item, sample)
		at := find(actual, element)
		switch {
		case at < 0:
			actual = append(actual, item)
		case element.Key != nil:
			actual[at] = merge(actual[at], item, owned.WithPrefix(element))
		}
	}
	return actual
}

// anItem returns an owned list item; none if the list is owned as a whole.
func anItem(owned *fieldpath.Set) (fieldpath.PathElement, bool) {
	for element := range owned.Members.All() {
		if element.Key != nil || element.Value != nil {
			return element, true
		}
	}
	for element := range owned.Children.All() {
		if element.Key != nil {
			return element, true
		}
	}
	return fieldpath.PathElement{}, false
}

// identify returns the path element of a list item, in the form of the sample.
func identify(item any, sample fieldpath.PathElement) fieldpath.PathElement {
	if sample.Key == nil {
		whole := value.NewValueInterface(item)
		return fieldpath.PathElement{Value: &whole}
	}
	fields, _ := item.(map[string]any)
	key := slices.Clone(*sample.Key)
	for i := range key {
		if declared, ok := fields[key[i].Name]; ok {
			key[i].Value = value.NewValueInterface(declared)
		}
	}
	return fieldpath.PathElement{Key: &key}
}

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
