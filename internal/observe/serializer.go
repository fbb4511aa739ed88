// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// serializer decodes unstructured objects and lists of them. It leaves all else to the standard serializer.
type serializer struct {
	runtime.Serializer
}

// Decode implements runtime.Decoder.
func (s serializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	switch into.(type) {
	case nil, *unstructured.Unstructured, *unstructured.UnstructuredList:
		fields, kind, ok := decodeObject(data)
		if !ok {
			break
		}
		if object, ok := fill(into, fields, kind); ok {
			return object, &kind, nil
		}
	}
	return s.Serializer.Decode(data, defaults, into)
}

// decodeObject returns the fields of an object that states its kind.
func decodeObject(data []byte) (fields map[string]any, kind schema.GroupVersionKind, ok bool) {
	value, err := decodeValue(data)
	if err != nil {
		return nil, kind, false
	}
	fields, _ = value.(map[string]any)
	name, _ := fields["kind"].(string)
	apiVersion, _ := fields["apiVersion"].(string)
	version, err := schema.ParseGroupVersion(apiVersion)
	return fields, version.WithKind(name), err == nil && name != "" && version.Version != ""
}

// isStatus reports whether the kind is that of the API server's errors, which clients expect as a metav1.Status. The standard serializer does not look at the
// group.
func isStatus(kind schema.GroupVersionKind) bool {
	return kind == metav1.Unversioned.WithKind("Status") || kind == metav1.SchemeGroupVersion.WithKind("Status")
}

// fill returns an object with the fields: into, unless it is nil. It reports whether it could.
func fill(into runtime.Object, fields map[string]any, kind schema.GroupVersionKind) (runtime.Object, bool) {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		into.Object = fields
		return into, true
	case *unstructured.UnstructuredList:
		items, ok := itemsOf(fields, kind)
		if ok {
			delete(fields, "items")
			into.Object, into.Items = fields, items
		}
		return into, ok
	default:
		return &unstructured.Unstructured{Object: fields}, !isStatus(kind)
	}
}

// itemsOf returns the items of a list. The API server omits their kinds if the type is compiled into it.
func itemsOf(list map[string]any, kind schema.GroupVersionKind) ([]unstructured.Unstructured, bool) {
	values, ok := list["items"].([]any)
	if !ok {
		return []unstructured.Unstructured{}, list["items"] == nil
	}
	items := make([]unstructured.Unstructured, len(values))
	for i, value := range values {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		items[i].Object = fields
		if items[i].GetKind() == "" && items[i].GetAPIVersion() == "" {
			items[i].SetKind(strings.TrimSuffix(kind.Kind, "List"))
			items[i].SetAPIVersion(kind.GroupVersion().String())
		}
	}
	return items, true
}
