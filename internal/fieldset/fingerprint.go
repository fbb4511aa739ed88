// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Fingerprint returns a hash, of 16 hexadecimal digits, of the object's UID and of the fields that manager owns on the
// main resource. It changes whenever others change or remove a field that manager applied, or recreate the object; it
// does not depend on times, the order of entries, the status, or fields of others.
//
// It is empty if manager owns nothing, as on servers that do not track field ownership. Fields at and below the
// uncounted paths do not count.
func Fingerprint(object metav1.Object, manager string, uncounted ...fieldpath.Path) (string, error) {
	var parts [][]byte
	entries, err := entriesOf(object, manager)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		fields, err := canonical(entry, uncounted)
		if err != nil {
			return "", err
		}
		parts = append(parts, slices.Concat([]byte(entry.Operation), []byte{0}, []byte(entry.APIVersion), []byte{0}, fields))
	}
	if len(parts) == 0 {
		return "", nil
	}
	slices.SortFunc(parts, bytes.Compare)
	hash := sha256.New()
	hash.Write([]byte(object.GetUID()))
	for _, part := range parts {
		hash.Write([]byte{0})
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// entriesOf returns the entries of manager on the main resource. It does not convert the other entries, which are the
// majority.
func entriesOf(object metav1.Object, manager string) ([]metav1.ManagedFieldsEntry, error) {
	var found []metav1.ManagedFieldsEntry
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		for _, entry := range object.GetManagedFields() {
			if entry.Manager == manager && entry.Subresource == "" {
				found = append(found, entry)
			}
		}
		return found, nil
	}
	raw, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	list, _ := raw.([]any)
	for _, element := range list {
		entry, _ := element.(map[string]any)
		if subresource, _ := entry["subresource"].(string); entry["manager"] != manager || subresource != "" {
			continue
		}
		operation, _ := entry["operation"].(string)
		apiVersion, _ := entry["apiVersion"].(string)
		converted := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: apiVersion}
		if entry["fieldsV1"] != nil {
			fields, err := json.Marshal(entry["fieldsV1"])
			if err != nil {
				return nil, fmt.Errorf("encoding fields of manager %s: %w", manager, err)
			}
			converted.FieldsV1 = metav1.NewFieldsV1(string(fields))
		}
		found = append(found, converted)
	}
	return found, nil
}

// forms caches canonical forms, because objects of one kind usually have the same fields.
var forms struct {
	sync.Mutex

	of   map[string][]byte
	size int
}

// maxForms is the maximum size of forms, in bytes.
const maxForms = 1 << 20

// canonical returns the fields of an entry in a form that does not depend on how the object was decoded.
func canonical(entry metav1.ManagedFieldsEntry, uncounted []fieldpath.Path) ([]byte, error) {
	var raw []byte
	if entry.FieldsV1 != nil {
		raw = entry.FieldsV1.GetRawBytes()
	}
	raw = slices.Clip(raw)
	for _, path := range uncounted {
		raw = fmt.Append(raw, "\x00", path)
	}
	forms.Lock()
	form, known := forms.of[string(raw)]
	forms.Unlock()
	if known {
		return form, nil
	}
	set, err := parse(entry)
	if err != nil {
		return nil, err
	}
	if len(uncounted) > 0 {
		set = set.RecursiveDifference(fieldpath.NewSet(uncounted...))
	}
	if form, err = set.ToJSON(); err != nil {
		return nil, fmt.Errorf("encoding fields of manager %s: %w", entry.Manager, err)
	}
	forms.Lock()
	defer forms.Unlock()
	if forms.size += len(raw) + len(form); forms.of == nil || forms.size > maxForms {
		forms.of, forms.size = map[string][]byte{}, len(raw)+len(form)
	}
	forms.of[string(raw)] = form
	return form, nil
}

func parse(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if entry.FieldsV1 == nil || len(entry.FieldsV1.GetRawBytes()) == 0 {
		return set, nil
	}
	if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("parsing fields of manager %s: %w", entry.Manager, err)
	}
	return set, nil
}

// Merge returns the result of a forced apply of the manifest to live by manager, as far as it can be predicted without
// the server: field ownership shows which lists are merged item by item, and by which keys. Merge sets no defaults, and
// changes neither argument.
func Merge(live, manifest map[string]any, entries []metav1.ManagedFieldsEntry, manager string) (map[string]any, error) {
	owned, err := Owned(entries, manager)
	if err != nil {
		return nil, err
	}
	others, err := union(entries, func(entry metav1.ManagedFieldsEntry) bool { return !applied(entry, manager) })
	if err != nil {
		return nil, err
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
