// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Contested compares the field ownership of an object before and after manager applied it. It returns the fields that
// manager took from others, and the sorted names of these.
func Contested(before, after []metav1.ManagedFieldsEntry, manager string) ([]fieldpath.Path, []string, error) {
	had, err := Owned(before, manager)
	if err != nil {
		return nil, nil, err
	}
	has, err := Owned(after, manager)
	if err != nil {
		return nil, nil, err
	}
	gained := has.Difference(had)
	taken := fieldpath.NewSet()
	var managers []string
	for _, entry := range before {
		if entry.Manager == manager {
			continue
		}
		set, err := parse(entry)
		if err != nil {
			return nil, nil, err
		}
		if common := set.Intersection(gained); !common.Empty() {
			taken = taken.Union(common)
			managers = append(managers, entry.Manager)
		}
	}
	var fields []fieldpath.Path
	for path := range taken.Leaves().All() {
		fields = append(fields, slices.Clone(path))
	}
	slices.Sort(managers)
	return fields, slices.Compact(managers), nil
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
