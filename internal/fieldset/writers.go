// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Writer is who has written a field, as far as the server has recorded it.
type Writer struct {
	// Manager is empty if nobody owns the field: whoever removed it has left no trace.
	Manager string
	// Time is when the manager changed any of its fields last; zero if that is not recorded.
	Time time.Time
}

// Writers returns for each of the fields the manager other than the given one that owns it, or something below it. If there are several,
// it is the one that was active last.
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
