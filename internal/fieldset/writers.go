// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Writer is the last writer of a field, as far as that is recorded.
type Writer struct {
	// Manager is empty if no manager owns the field, for example because it was removed.
	Manager string
	// Time is when the manager last changed any of its fields; zero if not recorded.
	Time time.Time
}

// Writers returns, for each field, the other manager that owns it or a field below it. If there are several, it is the
// one that wrote last.
func Writers(entries []metav1.ManagedFieldsEntry, fields []fieldpath.Path, manager string) ([]Writer, error) {
	writers := make([]Writer, len(fields))
	err := eachOfOthers(entries, manager, func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) {
		next := Writer{Manager: entry.Manager}
		if entry.Time != nil {
			next.Time = entry.Time.Time
		}
		for i, path := range fields {
			if hasAt(set, path) && (writers[i].Manager == "" || writers[i].Time.Before(next.Time)) {
				writers[i] = next
			}
		}
	})
	return writers, err
}
