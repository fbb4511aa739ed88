// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package renames

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/finalizers"
	"github.com/component-operator/runtime/pkg/types"
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
	if labels := n.keys(object.GetLabels(), labels); len(labels) > 0 {
		changes["labels"] = labels
	}
	if annotations := n.Annotations(object.GetAnnotations()); len(annotations) > 0 {
		changes["annotations"] = annotations
	}
	// The API server refuses other finalizers on an object that is being deleted; former ones are recognized.
	if renamed := n.finalizers(object.GetFinalizers()); object.GetDeletionTimestamp() == nil && !slices.Equal(renamed, object.GetFinalizers()) {
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

// labels are the suffixes of labels that reconcilers set. Others may be selected by somebody.
var labels = []string{types.LabelKeySuffixOwnerId, types.LabelKeySuffixInventoryOwnerId, types.LabelKeySuffixBarrierOwnerId}

// Annotations returns the changes of annotations. Those with suffixes that reconcilers do not know stay as they are.
func (n Names) Annotations(present map[string]string) map[string]any {
	return n.keys(present, annotations.Known())
}

// keys returns the changes of labels or annotations with the given suffixes. The first former name counts.
func (n Names) keys(present map[string]string, suffixes []string) map[string]any {
	changes := map[string]any{}
	for _, former := range n.Former {
		for key, value := range present {
			suffix, found := strings.CutPrefix(key, former+"/")
			if !found || !slices.Contains(suffixes, suffix) {
				continue
			}
			changes[key] = nil
			key = n.Name + "/" + suffix
			if _, exists := present[key]; !exists && changes[key] == nil {
				changes[key] = value
			}
		}
	}
	return changes
}

func (n Names) finalizers(present []string) []string {
	var renamed []string
	for _, finalizer := range present {
		if next := n.finalizer(finalizer); !slices.Contains(renamed, next) {
			renamed = append(renamed, next)
		}
	}
	return renamed
}

// finalizer returns the present finalizer in place of a former one. Those of others may have the same prefix, and stay.
func (n Names) finalizer(finalizer string) string {
	for _, former := range n.Former {
		switch finalizer {
		case former, former + "/finalizer":
			return n.Finalizers.Current
		case finalizers.Outcome(former):
			return finalizers.Outcome(n.Name)
		case finalizers.Inventory(former):
			return finalizers.Inventory(n.Name)
		}
	}
	if slices.Contains(n.Finalizers.Former, finalizer) {
		return n.Finalizers.Current
	}
	return finalizer
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
			return other.Manager == entry.Manager && other.Operation == entry.Operation && other.APIVersion == entry.APIVersion && other.Subresource == entry.Subresource
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
	for name, suffixes := range map[string][]string{"f:labels": labels, "f:annotations": annotations.Known()} {
		keys, _ := metadata[name].(map[string]any)
		for _, former := range n.Former {
			for _, suffix := range suffixes {
				if value, exists := keys["f:"+former+"/"+suffix]; exists {
					delete(keys, "f:"+former+"/"+suffix)
					keys["f:"+n.Name+"/"+suffix] = value
				}
			}
		}
	}
	raw, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("encoding managed fields: %w", err)
	}
	return metav1.NewFieldsV1(string(raw)), nil
}

// Renamed returns annotations with the present name in place of former ones, and whether there were any of these. The given map is not changed.
func (n Names) Renamed(present map[string]string) (renamed map[string]string, changed bool) {
	changes := n.Annotations(present)
	if len(changes) == 0 {
		return present, false
	}
	renamed = maps.Clone(present)
	for key, value := range changes {
		if text, ok := value.(string); ok {
			renamed[key] = text
		} else {
			delete(renamed, key)
		}
	}
	return renamed, true
}
