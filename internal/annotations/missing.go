// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package annotations

import (
	"fmt"
	"maps"
	"slices"
)

// Missing returns the annotations, with their whole keys, that an object needs in addition to the given ones to have
// the demanded ones, which are given by their suffixes. It fails if one has another value; source says what demands
// them.
func Missing(given map[string]string, prefix string, demanded map[string]string, source string) (map[string]string, error) {
	missing := map[string]string{}
	for _, suffix := range slices.Sorted(maps.Keys(demanded)) {
		key, value := prefix+suffix, demanded[suffix]
		present, ok := given[key]
		if ok && !sameValue(suffix, present, value) {
			return nil, fmt.Errorf("annotation %s has value %q, but %s of the object demand %q", key, present, source, value)
		}
		if !ok {
			missing[key] = value
		}
	}
	return missing, nil
}

// sameValue compares orders as numbers, and policies in kebab or camel case.
func sameValue(suffix, present, demanded string) bool {
	if present == demanded {
		return true
	}
	if order, err := Order(present); err == nil {
		other, err := Order(demanded)
		return err == nil && order == other
	}
	policy, err := Policy(suffix, present)
	return err == nil && policy == demanded
}
