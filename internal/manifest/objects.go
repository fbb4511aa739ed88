// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Inherit copies properties of a list to its item.
type Inherit func(list, item *unstructured.Unstructured)

// Objects returns the object that a decoded document describes or, if that is a list, the objects in the list and in
// nested lists. A document without content has none. The objects take over the content. If inherit is nil, items
// inherit only the type from their lists.
func Objects(content any, inherit Inherit) ([]*unstructured.Unstructured, error) {
	switch content := content.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return expand(content, inherit)
	default:
		return nil, fmt.Errorf("it is not an object, but %s", describe(content))
	}
}

// expand returns the given object or, if it is a list, its objects.
func expand(content map[string]any, inherit Inherit) ([]*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: content}
	if err := checkType(content); err != nil {
		return nil, err
	}
	if !isList(object) {
		if err := checkMetadata(content); err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), nameOf(content), err)
		}
		return []*unstructured.Unstructured{object}, nil
	}

	if metadata, _ := content["metadata"].(map[string]any); metadata != nil {
		if err := checkStrings(metadata, "annotations"); err != nil {
			return nil, fmt.Errorf("%s: %w", object.GetKind(), err)
		}
	}
	items, err := itemsOf(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.GetKind(), err)
	}
	var objects []*unstructured.Unstructured
	for i, item := range items {
		found, err := expandItem(object.GroupVersionKind(), item, inherit)
		if err != nil {
			return nil, fmt.Errorf("item %d of %s: %w", i+1, object.GetKind(), err)
		}
		if inherit != nil {
			for _, item := range found {
				inherit(object, item)
			}
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// itemsOf refuses items that are no list: treating them as an empty list would delete the former items.
func itemsOf(content map[string]any) ([]any, error) {
	switch items := content["items"].(type) {
	case []any:
		return items, nil
	case nil:
		if _, exists := content["items"]; !exists {
			return nil, errors.New("items is missing")
		}
		return nil, nil
	default:
		return nil, fmt.Errorf("items is not a list, but %s", describe(items))
	}
}

func expandItem(list schema.GroupVersionKind, item any, inherit Inherit) ([]*unstructured.Unstructured, error) {
	content, ok := item.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is not an object, but %s", describe(item))
	}
	// The items of a typed list need not repeat their type.
	if kind := strings.TrimSuffix(list.Kind, "List"); kind != "" && content["kind"] == nil {
		content["kind"] = kind
		if content["apiVersion"] == nil {
			content["apiVersion"] = list.GroupVersion().String()
		}
	}
	return expand(content, inherit)
}

func isList(object *unstructured.Unstructured) bool {
	if object.GetKind() == "List" && object.GetAPIVersion() == "v1" {
		return true
	}
	items, exists := object.Object["items"]
	_, isSlice := items.([]any)
	return strings.HasSuffix(object.GetKind(), "List") && exists && (isSlice || items == nil)
}

func checkType(content map[string]any) error {
	for _, field := range []string{"apiVersion", "kind"} {
		value, ok := content[field].(string)
		switch {
		case content[field] == nil:
			return fmt.Errorf("%s of object %s is missing", field, nameOf(content))
		case !ok || value == "":
			return fmt.Errorf("%s of object %s is not a non-empty string", field, nameOf(content))
		}
	}
	apiVersion, _ := content["apiVersion"].(string)
	if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
		return fmt.Errorf("apiVersion of object %s: %w", nameOf(content), err)
	}
	return nil
}

func checkMetadata(content map[string]any) error {
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return errors.New("metadata is missing")
	}
	for _, field := range []string{"name", "namespace", "generateName"} {
		if _, ok := metadata[field].(string); !ok && metadata[field] != nil {
			return fmt.Errorf("metadata.%s is not a string, but %s", field, describe(metadata[field]))
		}
	}
	if metadata["namespace"] == nil {
		delete(metadata, "namespace")
	}
	if name, _ := metadata["name"].(string); name == "" {
		if metadata["generateName"] != nil && !isNamedLater(metadata) {
			return errors.New("metadata.generateName is not supported, metadata.name must be set")
		}
		if !isNamedLater(metadata) {
			return errors.New("metadata.name is missing")
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if err := checkStrings(metadata, field); err != nil {
			return err
		}
	}
	return nil
}

// hookAnnotation makes an object a hook of Argo CD.
const hookAnnotation = "argocd.argoproj.io/hook"

// isNamedLater reports whether an object is a hook of Argo CD. The reader of hooks gives it a name; if nobody does, it
// is refused when it would be applied.
func isNamedLater(metadata map[string]any) bool {
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations[hookAnnotation] != nil
}

// checkStrings makes sure that a field of the metadata is a map of strings. Null stands for the empty string,
// as it does for the API server, or for no map at all.
func checkStrings(metadata map[string]any, field string) error {
	if metadata[field] == nil {
		delete(metadata, field)
		return nil
	}
	entries, ok := metadata[field].(map[string]any)
	if !ok {
		return fmt.Errorf("metadata.%s is not a map, but %s", field, describe(metadata[field]))
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		switch value := entries[key].(type) {
		case string:
		case nil:
			entries[key] = ""
		default:
			return fmt.Errorf("value of metadata.%s[%s] is not a string, but %s; put it into quotes", field, key, describe(value))
		}
	}
	return nil
}

func nameOf(content map[string]any) string {
	metadata, _ := content["metadata"].(map[string]any)
	if name, _ := metadata["name"].(string); name != "" {
		return name
	}
	return "<no name>"
}

func describe(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		// It may be confidential.
		return "text"
	default:
		return fmt.Sprintf("the value %v", value)
	}
}
