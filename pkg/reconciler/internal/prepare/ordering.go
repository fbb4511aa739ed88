// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"cmp"
	"slices"
)

// Sort sorts desired objects in apply order.
func Sort(wanted []*Object, tier func(*Object) int) {
	slices.SortFunc(wanted, func(a, b *Object) int {
		return cmp.Or(
			cmp.Compare(a.ApplyOrder, b.ApplyOrder), cmp.Compare(a.Stage(), b.Stage()), cmp.Compare(a.Step, b.Step),
			cmp.Compare(tier(a), tier(b)), a.Key.Compare(b.Key),
		)
	})
}

// Group splits a sorted slice into runs of equal rank.
func Group[T any, R comparable](items []T, rank func(T) R) [][]T {
	var groups [][]T
	for start := 0; start < len(items); {
		end := start + 1
		for end < len(items) && rank(items[end]) == rank(items[start]) {
			end++
		}
		groups = append(groups, items[start:end])
		start = end
	}
	return groups
}

// FirstHook returns the index of the first apply hook among sorted desired objects; their number if there is none.
func FirstHook(wanted []*Object) int {
	if i := slices.IndexFunc(wanted, func(t *Object) bool { return t.Hook != "" }); i >= 0 {
		return i
	}
	return len(wanted)
}
