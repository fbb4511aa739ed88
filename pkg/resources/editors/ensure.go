// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
)

// orNew returns the value, or a new one if it is nil.
func orNew[T any](value *T) *T {
	if value == nil {
		return new(T)
	}
	return value
}

// specEditor is what the editors of specs have in common.
type specEditor[T any] struct{ spec *T }

// specEditorOf returns an editor of a spec; nil stands for a new one.
func specEditorOf[T any](spec *T) specEditor[T] { return specEditor[T]{orNew(spec)} }

// Raw returns the edited spec itself.
func (e specEditor[T]) Raw() *T { return e.spec }

// ensure replaces the first item that is the same as the given one, and removes the others. If there is none, it
// appends the item. The list becomes a new one, because another object might share the old one.
func ensure[T any](items *[]T, item T, same func(a, b T) bool) {
	result := make([]T, 0, len(*items)+1)
	placed := false
	for _, existing := range *items {
		if !same(existing, item) {
			result = append(result, existing)
			continue
		}
		if !placed {
			result = append(result, item)
			placed = true
		}
	}
	if !placed {
		result = append(result, item)
	}
	*items = result
}

// remove removes all items that match, and leaves nil if none remains. If it removes something, the list becomes a new
// one, as in ensure.
func remove[T any](items *[]T, match func(T) bool) {
	if !slices.ContainsFunc(*items, match) {
		return
	}
	var kept []T
	for _, existing := range *items {
		if !match(existing) {
			kept = append(kept, existing)
		}
	}
	*items = kept
}

// put sets an entry of a map, which it creates if it is nil.
func put[M ~map[K]V, K comparable, V any](entries *M, key K, value V) {
	if *entries == nil {
		*entries = M{}
	}
	(*entries)[key] = value
}

// by returns a function that reports whether two items have the same key.
func by[T any, K comparable](key func(T) K) func(a, b T) bool {
	return func(a, b T) bool { return key(a) == key(b) }
}

// equal reports whether two values are the same.
func equal[T comparable](a, b T) bool { return a == b }

// deepEqual reports whether two items have the same content. A nil list or map is the same as an empty one, and 1000m
// the same quantity as 1.
func deepEqual[T any](a, b T) bool { return equality.Semantic.DeepEqual(a, b) }

// is returns a function that reports whether an item is this one.
func is[T comparable](item T) func(T) bool {
	return func(existing T) bool { return existing == item }
}
