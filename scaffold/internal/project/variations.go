// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxVariations limits the number of renderings.
const maxVariations = 200

// A variation are values that differ from the defaults.
type variation struct {
	// text says how, for messages.
	text   string
	values map[string]any
	// apiVersions are those that the cluster serves beside those of Kubernetes.
	apiVersions []string
	// invented means that a value is made up, so that the manifests may rightly refuse it.
	invented bool
}

// variationsOf returns variations with each boolean turned, with all of them true, with each choice and each optional
// value set, and with all of that, also in a cluster that serves all versions that the manifests ask for; and the
// number of values that are left out.
func variationsOf(source Rendered) (variations []variation, left int) {
	everything := map[string]any{}
	add := func(text string, path []string, value any, invented bool) {
		if len(variations) == maxVariations {
			left++
			return
		}
		values := map[string]any{}
		setValue(values, path, value)
		variations = append(variations, variation{text: text, values: values, invented: invented})
	}
	walkBooleans(source.Values, nil, func(path []string, value bool) {
		setValue(everything, path, true)
		add(fmt.Sprintf("%s=%t", strings.Join(path, "."), !value), path, !value, false)
	})
	turned := len(variations)
	for _, choice := range source.Choices {
		if value, found, err := unstructured.NestedFieldNoCopy(source.Values, choice.Path...); err != nil || !found || !reflect.DeepEqual(value, choice.Value) {
			add(fmt.Sprintf("%s=%v", strings.Join(choice.Path, "."), choice.Value), choice.Path, choice.Value, false)
		}
	}
	if turned > 1 {
		variations = append(variations, variation{text: "all booleans true", values: runtime.DeepCopyJSON(everything)})
	}
	walkOptional(source.Optional, source.Values, nil, func(path []string, value any) {
		add(strings.Join(path, ".")+" set", path, value, true)
	})
	if len(source.Optional) > 0 {
		variations = append(variations, variation{text: "everything set", values: Merged(everything, source.Optional), invented: true})
	}
	if len(source.APIVersions) > 0 {
		served := strings.Join(source.APIVersions, ", ") + " in the cluster"
		variations = append(variations,
			variation{text: served, apiVersions: source.APIVersions},
			variation{text: "all booleans true, and " + served, values: runtime.DeepCopyJSON(everything), apiVersions: source.APIVersions})
	}
	return variations, left
}

// walkOptional visits all optional values in the order of their names. A map is visited as a whole if it is missing by
// default, because its fields may be required together.
func walkOptional(optional, defaults map[string]any, path []string, visit func(path []string, value any)) {
	for _, key := range slices.Sorted(maps.Keys(optional)) {
		below := append(slices.Clip(path), key)
		value, isMap := optional[key].(map[string]any)
		existing, exists := defaults[key].(map[string]any)
		if isMap && exists && len(existing) > 0 {
			walkOptional(value, existing, below, visit)
			continue
		}
		visit(below, optional[key])
	}
}

// walk visits all booleans in maps, in the order of their names.
func walkBooleans(values map[string]any, path []string, visit func(path []string, value bool)) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		below := append(slices.Clip(path), key)
		switch value := values[key].(type) {
		case bool:
			visit(below, value)
		case map[string]any:
			walkBooleans(value, below, visit)
		}
	}
}

func setValue(values map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		next, ok := values[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			values[key] = next
		}
		values = next
	}
	values[path[len(path)-1]] = value
}

// Merged returns a copy of the values with the others merged in, of which the first win.
func Merged(values, others map[string]any) map[string]any {
	result := runtime.DeepCopyJSON(values)
	if result == nil {
		result = map[string]any{}
	}
	for key, other := range others {
		value, exists := result[key]
		deeper, isMap := value.(map[string]any)
		otherMap, otherIsMap := other.(map[string]any)
		switch {
		case !exists:
			result[key] = runtime.DeepCopyJSONValue(other)
		case isMap && otherIsMap:
			result[key] = Merged(deeper, otherMap)
		}
	}
	return result
}
