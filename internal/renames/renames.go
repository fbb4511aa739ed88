// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package renames

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/annotations"
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

// Changes returns the contents of two JSON merge patches for the metadata of an object: the first one changes keys and finalizers, the second one gives the present field manager
// what former ones had. Each is nil if there is nothing to change.
func (n Names) Changes(object metav1.Object) (keys, entries map[string]any, err error) {
	keys = map[string]any{}
	if labels := n.keys(object.GetLabels(), labels); len(labels) > 0 {
		keys["labels"] = labels
	}
	if annotations := n.Annotations(object.GetAnnotations()); len(annotations) > 0 {
		keys["annotations"] = annotations
	}
	// The API server refuses other finalizers on an object that is being deleted; former ones are recognized.
	if renamed := n.Renames(object.GetFinalizers()); object.GetDeletionTimestamp() == nil && !slices.Equal(renamed, object.GetFinalizers()) {
		keys["finalizers"] = renamed
	}
	if len(keys) == 0 {
		keys = nil
	}
	fields, changed, err := n.managedFields(object.GetManagedFields())
	if changed {
		entries = map[string]any{"managedFields": fields}
	}
	return keys, entries, err
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
			// What a former name has taken over says nothing about the present one.
			if _, exists := present[key]; !exists && changes[key] == nil && suffix != types.AnnotationKeySuffixFormerNames {
				changes[key] = value
			}
		}
	}
	return changes
}

// Renames returns finalizers with the present ones in place of former ones.
func (n Names) Renames(present []string) []string {
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
