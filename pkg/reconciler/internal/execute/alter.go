// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Alterations compares the manifest with the stored object, and returns what admission changed. It compares scalars,
// and lists only if they have kept their length: additions and normalisations are no alterations, and neither are
// values in place of 0 and the empty text, which typed objects have where nothing is set. The texts contain no values,
// because they may be secret.
func Alterations(declared, stored *unstructured.Unstructured) []string {
	var texts []string
	for _, field := range slices.Sorted(maps.Keys(declared.Object)) {
		if field == "apiVersion" || field == "kind" || field == "metadata" || field == "status" {
			continue
		}
		compareValues("."+field, declared.Object[field], stored.Object[field], &texts)
	}
	return texts
}

// compareValues adds a text for each difference.
func compareValues(path string, declared, stored any, texts *[]string) {
	switch declared := declared.(type) {
	case nil:
		// A declared null leaves the value to the server.
	case map[string]any:
		actual, ok := stored.(map[string]any)
		if !ok {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(declared)) {
			compareValues(path+"."+key, declared[key], actual[key], texts)
		}
	case []any:
		actual, ok := stored.([]any)
		if !ok || len(actual) != len(declared) {
			return
		}
		for i := range declared {
			compareValues(fmt.Sprintf("%s[%d]", path, i), declared[i], actual[i], texts)
		}
	default:
		if text := fmt.Sprint(declared); stored != nil && text != "" && text != "0" && !sameValue(declared, stored) {
			*texts = append(*texts, "admission changed "+path)
		}
	}
}

// sameValue compares scalars as JSON, where integers of different Go types are equal, or as quantities, which the
// server normalises.
func sameValue(a, b any) bool {
	first, errFirst := json.Marshal(a)
	second, errSecond := json.Marshal(b)
	if errFirst != nil || errSecond != nil || string(first) == string(second) {
		return true
	}
	x, errX := resource.ParseQuantity(fmt.Sprint(a))
	y, errY := resource.ParseQuantity(fmt.Sprint(b))
	return errX == nil && errY == nil && x.Cmp(y) == 0
}
