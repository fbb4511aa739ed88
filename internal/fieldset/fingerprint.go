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
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Fingerprint is a hash, of 16 hexadecimal digits, of the object's UID and of the fields that manager owns on the main
// resource. It changes whenever others change or remove a field that manager applied, or recreate the object; it does
// not depend on times, the order of entries, the status, or fields of others.
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

// entriesOf returns the entries of manager on the main resource. It does not convert the others, which are the most.
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
