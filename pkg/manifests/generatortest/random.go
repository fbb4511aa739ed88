// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generatortest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hidden is what golden files have instead of a random value.
const hidden = "(random)"

// hideRandom replaces values that differ between both results of a generator, in both. It leaves identities as they are: the name of a dependent must not be random.
// Keys of maps and the lengths of lists must be the same, too.
func hideRandom(first, second []*unstructured.Unstructured) {
	for i := range min(len(first), len(second)) {
		a, b := first[i], second[i]
		if a.GroupVersionKind() == b.GroupVersionKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName() {
			hideIn(a.Object, b.Object)
		}
	}
}

// hideIn replaces values below both, which are maps or lists. Others are left alone.
func hideIn(a, b any) {
	switch a := a.(type) {
	case map[string]any:
		other, _ := b.(map[string]any)
		for key, value := range a {
			if found, exists := other[key]; exists && isRandom(value, found) {
				a[key], other[key] = hidden, hidden
			} else if exists {
				hideIn(value, found)
			}
		}
	case []any:
		other, _ := b.([]any)
		for i := range min(len(a), len(other)) {
			if isRandom(a[i], other[i]) {
				a[i], other[i] = hidden, hidden
			} else {
				hideIn(a[i], other[i])
			}
		}
	}
}

// isRandom reports whether two values are single ones, and differ.
func isRandom(a, b any) bool {
	return isSingle(a) && isSingle(b) && a != b
}

func isSingle(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
