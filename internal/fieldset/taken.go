// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Taking is a field that an apply took from another manager.
type Taking struct {
	Path fieldpath.Path
	// Writer is the manager that owned the field before.
	Writer
}

// Taken compares the field ownership of an object before and after manager applied it by force. It returns what the API
// server would have reported as conflicts otherwise: the fields that others owned with other values, and that manager
// owns now; sorted by path and manager.
func Taken(before, after []metav1.ManagedFieldsEntry, manager string) ([]Taking, error) {
	owned, err := Owned(after, manager)
	if err != nil {
		return nil, err
	}
	left := map[metav1.ManagedFieldsEntry]*fieldpath.Set{}
	if err := eachOfOthers(after, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) { left[identity(entry)] = set }); err != nil {
		return nil, err
	}
	var taken []Taking
	err = eachOfOthers(before, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) {
		lost := set
		if remaining := left[identity(entry)]; remaining != nil {
			lost = set.Difference(remaining)
		}
		for path := range lost.Intersection(owned).Leaves().All() {
			taken = append(taken, takingOf(path, entry))
		}
	})
	sortTakings(taken)
	return taken, err
}

// WouldTake returns what manager would take from others if it applied the declared fields to the live object by force,
// as far as that is known without the server: the declared fields that others own, and that have other values now;
// sorted by path and manager.
func WouldTake(live, declared map[string]any, entries []metav1.ManagedFieldsEntry, manager string) ([]Taking, error) {
	var taken []Taking
	err := eachOfOthers(entries, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) {
		for path := range set.Leaves().All() {
			if Exists(declared, path) && Exists(live, path) && !Same(declared, live, path) {
				taken = append(taken, takingOf(path, entry))
			}
		}
	})
	sortTakings(taken)
	return taken, err
}

func takingOf(path fieldpath.Path, entry metav1.ManagedFieldsEntry) Taking {
	taking := Taking{Path: slices.Clone(path), Writer: Writer{Manager: entry.Manager}}
	if entry.Time != nil {
		taking.Time = entry.Time.Time
	}
	return taking
}

func sortTakings(taken []Taking) {
	slices.SortFunc(taken, func(a, b Taking) int {
		return cmp.Or(cmp.Compare(a.Path.String(), b.Path.String()), cmp.Compare(a.Manager, b.Manager), a.Time.Compare(b.Time))
	})
}

// identity is what distinguishes the entries of an object.
func identity(entry metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: entry.Manager, Operation: entry.Operation, APIVersion: entry.APIVersion, Subresource: entry.Subresource}
}
