// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Gained returns the fields that manager applied and did not own before, because others had changed or removed them.
// What it has written by other requests than applies was its own as well.
func Gained(before, after []metav1.ManagedFieldsEntry, manager string) ([]fieldpath.Path, error) {
	had := fieldpath.NewSet()
	for _, entry := range before {
		if entry.Manager != manager || entry.Subresource != "" {
			continue
		}
		set, err := parse(entry)
		if err != nil {
			return nil, err
		}
		had = had.Union(set)
	}
	has, err := Owned(after, manager)
	if err != nil {
		return nil, err
	}
	var fields []fieldpath.Path
	for path := range has.Difference(had).Leaves().All() {
		fields = append(fields, slices.Clone(path))
	}
	return fields, nil
}

// Owned returns the fields that manager applied to the main resource.
func Owned(entries []metav1.ManagedFieldsEntry, manager string) (*fieldpath.Set, error) {
	all := fieldpath.NewSet()
	for _, entry := range entries {
		if !applied(entry, manager) {
			continue
		}
		set, err := parse(entry)
		if err != nil {
			return nil, err
		}
		all = all.Union(set)
	}
	return all, nil
}

// Holders returns the sorted names of the other managers that own some of the fields, or fields below them.
func Holders(entries []metav1.ManagedFieldsEntry, fields []fieldpath.Path, manager string) ([]string, error) {
	var holders []string
	err := eachOfOthers(entries, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) {
		if slices.ContainsFunc(fields, func(path fieldpath.Path) bool { return hasAt(set, path) }) {
			holders = append(holders, entry.Manager)
		}
	})
	slices.Sort(holders)
	return slices.Compact(holders), err
}

// eachOfOthers visits the entries of other managers, with the fields that each of them owns.
func eachOfOthers(entries []metav1.ManagedFieldsEntry, manager string, visit func(metav1.ManagedFieldsEntry, *fieldpath.Set)) error {
	for _, entry := range entries {
		if entry.Manager == manager {
			continue
		}
		set, err := parse(entry)
		if err != nil {
			return err
		}
		visit(entry, set)
	}
	return nil
}

// hasAt reports whether the set has the path, or one below it.
func hasAt(set *fieldpath.Set, path fieldpath.Path) bool {
	return set.Has(path) || containsBelow(set, path)
}
