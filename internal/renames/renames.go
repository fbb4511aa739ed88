// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package renames

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/finalizers"
)

// Names are the names of a reconciler.
type Names struct {
	// Former are the names of earlier versions, Name the present one.
	Former []string
	Name   string
	// FieldOwner is the present field manager. Former ones have the former names.
	FieldOwner string
	// Finalizers are the present finalizers. With a finalizer of a former name, an object has the present one.
	Finalizers finalizers.Set
}

// Changes returns the content of a JSON merge patch for the metadata of an object; nil if the object has nothing of a former name.
func (n Names) Changes(object metav1.Object) (map[string]any, error) {
	changes := map[string]any{}
	if labels := n.Keys(object.GetLabels()); len(labels) > 0 {
		changes["labels"] = labels
	}
	if annotations := n.Keys(object.GetAnnotations()); len(annotations) > 0 {
		changes["annotations"] = annotations
	}
	if renamed := n.finalizers(object.GetFinalizers()); !slices.Equal(renamed, object.GetFinalizers()) {
		changes["finalizers"] = renamed
	}
	entries, changed, err := n.managedFields(object.GetManagedFields())
	if err != nil {
		return nil, err
	}
	if changed {
		changes["managedFields"] = entries
	}
	if len(changes) == 0 {
		return nil, nil
	}
	return changes, nil
}

// Keys returns the changes of labels or annotations.
func (n Names) Keys(present map[string]string) map[string]any {
	changes := map[string]any{}
	for key, value := range present {
		suffix, former := n.suffix(key)
		if !former {
			continue
		}
		changes[key] = nil
		if _, exists := present[n.Name+"/"+suffix]; !exists {
			changes[n.Name+"/"+suffix] = value
		}
	}
	return changes
}

// suffix returns the part of a key after a former name, and whether there is one.
func (n Names) suffix(key string) (suffix string, former bool) {
	prefix, suffix, found := strings.Cut(key, "/")
	return suffix, found && slices.Contains(n.Former, prefix)
}

func (n Names) finalizers(present []string) []string {
	var renamed []string
	for _, finalizer := range present {
		suffix, former := n.suffix(finalizer)
		switch {
		case slices.Contains(n.Former, finalizer):
			finalizer = n.Finalizers.Current
		case former && finalizer != n.Finalizers.Current:
			finalizer = n.Name + "/" + suffix
		}
		if !slices.Contains(renamed, finalizer) {
			renamed = append(renamed, finalizer)
		}
	}
	return renamed
}

// managedFields returns the entries with the present manager in place of former ones, and whether there are any of these.
func (n Names) managedFields(entries []metav1.ManagedFieldsEntry) (renamed []metav1.ManagedFieldsEntry, changed bool, err error) {
	for _, entry := range entries {
		if slices.Contains(n.Former, entry.Manager) && entry.Manager != n.FieldOwner {
			changed = true
			entry.Manager = n.FieldOwner
			if entry.FieldsV1, err = n.fields(entry.FieldsV1); err != nil {
				return nil, false, err
			}
		}
		same := slices.IndexFunc(renamed, func(other metav1.ManagedFieldsEntry) bool {
			return cmp.Or(strings.Compare(other.Manager, entry.Manager), strings.Compare(string(other.Operation), string(entry.Operation)),
				strings.Compare(other.APIVersion, entry.APIVersion), strings.Compare(other.Subresource, entry.Subresource)) == 0
		})
		if same < 0 {
			renamed = append(renamed, entry)
			continue
		}
		if renamed[same].FieldsV1, err = fieldset.Union(renamed[same], entry); err != nil {
			return nil, false, err
		}
	}
	return renamed, changed, nil
}

// fields returns a set of fields in which the keys of labels and annotations have the present name.
func (n Names) fields(fields *metav1.FieldsV1) (*metav1.FieldsV1, error) {
	if fields == nil {
		return nil, nil
	}
	var set map[string]any
	if err := json.Unmarshal(fields.GetRawBytes(), &set); err != nil {
		return nil, fmt.Errorf("parsing managed fields: %w", err)
	}
	metadata, _ := set["f:metadata"].(map[string]any)
	for _, name := range []string{"f:labels", "f:annotations"} {
		keys, _ := metadata[name].(map[string]any)
		for key, value := range keys {
			if suffix, former := n.suffix(strings.TrimPrefix(key, "f:")); former {
				delete(keys, key)
				keys["f:"+n.Name+"/"+suffix] = value
			}
		}
	}
	raw, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("encoding managed fields: %w", err)
	}
	return metav1.NewFieldsV1(string(raw)), nil
}

// Apply returns labels or annotations after changes.
func Apply(present map[string]string, changes map[string]any) map[string]string {
	result := maps.Clone(present)
	for key, value := range changes {
		if text, ok := value.(string); ok {
			result[key] = text
		} else {
			delete(result, key)
		}
	}
	return result
}
