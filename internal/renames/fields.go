// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package renames

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/fieldset"
)

// managedFields returns the entries with the present manager in place of former ones, and whether there are any of these. If the present manager has updated keys of an object
// that a former one has applied, these are keys that got its name, and their managed fields were to follow.
func (n Names) managedFields(entries []metav1.ManagedFieldsEntry) (renamed []metav1.ManagedFieldsEntry, changed bool, err error) {
	isHalf := slices.ContainsFunc(entries, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Operation == metav1.ManagedFieldsOperationApply && n.isFormer(entry)
	})
	for _, entry := range entries {
		if isHalf && entry.Manager == n.FieldOwner && entry.Subresource == "" {
			entry.Operation = metav1.ManagedFieldsOperationApply
		}
		entry, isRenamed, err := n.entry(entry)
		if err != nil {
			return nil, false, err
		}
		changed = changed || isRenamed
		if renamed, err = n.add(renamed, entry); err != nil {
			return nil, false, err
		}
	}
	return renamed, changed, nil
}

func (n Names) isFormer(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager != n.FieldOwner && slices.Contains(n.Former, entry.Manager)
}

// entry returns an entry of a former or the present manager under the present name, and whether that makes a difference; others stay as they are.
func (n Names) entry(entry metav1.ManagedFieldsEntry) (renamed metav1.ManagedFieldsEntry, changed bool, err error) {
	isFormer := n.isFormer(entry)
	if !isFormer && entry.Manager != n.FieldOwner {
		return entry, false, nil
	}
	fields, changed, err := n.fields(entry.FieldsV1)
	if err != nil {
		return entry, false, err
	}
	entry.Manager = n.FieldOwner
	if changed {
		entry.FieldsV1 = fields
	}
	return entry, changed || isFormer, nil
}

// add adds an entry to others. A manager has one entry for all its applies, whatever their version, which is the newest one; and one for its other writes in each version.
func (n Names) add(entries []metav1.ManagedFieldsEntry, entry metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	same := slices.IndexFunc(entries, func(other metav1.ManagedFieldsEntry) bool {
		isSameVersion := entry.Operation == metav1.ManagedFieldsOperationApply || other.APIVersion == entry.APIVersion
		return other.Manager == entry.Manager && other.Operation == entry.Operation && other.Subresource == entry.Subresource && isSameVersion
	})
	if same < 0 {
		return append(entries, entry), nil
	}
	fields, err := fieldset.Union(entries[same], entry)
	if err != nil {
		return nil, err
	}
	if entries[same].Time.Before(entry.Time) {
		entries[same] = entry
	}
	entries[same].FieldsV1 = fields
	return entries, nil
}

// fields returns a set of fields in which the keys of labels and annotations, and finalizers, have the present name, and whether there were any with a former one.
func (n Names) fields(fields *metav1.FieldsV1) (renamed *metav1.FieldsV1, changed bool, err error) {
	if fields == nil {
		return nil, false, nil
	}
	var set map[string]any
	if err := json.Unmarshal(fields.GetRawBytes(), &set); err != nil {
		return nil, false, fmt.Errorf("parsing managed fields: %w", err)
	}
	metadata, _ := set["f:metadata"].(map[string]any)
	for name, suffixes := range map[string][]string{"f:labels": labels, "f:annotations": annotations.Known()} {
		keys, _ := metadata[name].(map[string]any)
		for _, former := range n.Former {
			for _, suffix := range suffixes {
				changed = move(keys, "f:"+former+"/"+suffix, "f:"+n.Name+"/"+suffix) || changed
			}
		}
	}
	// Finalizers are members of a set, which are identified by their value.
	members, _ := metadata["f:finalizers"].(map[string]any)
	for _, member := range slices.Collect(maps.Keys(members)) {
		var finalizer string
		if text, found := strings.CutPrefix(member, "v:"); !found || json.Unmarshal([]byte(text), &finalizer) != nil {
			continue
		}
		if present := n.finalizer(finalizer); present != finalizer {
			changed = move(members, member, "v:"+strconv.Quote(present)) || changed
		}
	}
	if !changed {
		return nil, false, nil
	}
	raw, err := json.Marshal(set)
	if err != nil {
		return nil, false, fmt.Errorf("encoding managed fields: %w", err)
	}
	return metav1.NewFieldsV1(string(raw)), true, nil
}

// move gives an element another key, and reports whether there is such an element.
func move(elements map[string]any, from, to string) bool {
	value, exists := elements[from]
	if exists {
		delete(elements, from)
		elements[to] = value
	}
	return exists
}
