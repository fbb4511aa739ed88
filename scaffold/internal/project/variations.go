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

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/scaffold/internal/values"
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
func variationsOf(given *values.Types, apiVersions []string) (variations []variation, left int) {
	everything := map[string]any{}
	add := func(text string, path []string, value any, invented bool) {
		if len(variations) == maxVariations {
			left++
			return
		}
		variations = append(variations, variation{text: text, values: valueAt(path, value), invented: invented})
	}
	walkBooleans(given.Defaults, nil, func(path []string, value bool) {
		manifests.MergeMapInto(everything, valueAt(path, true))
		add(fmt.Sprintf("%s=%t", strings.Join(path, "."), !value), path, !value, false)
	})
	turned := len(variations)
	for _, choice := range given.Choices {
		if value, found, err := unstructured.NestedFieldNoCopy(given.Defaults, choice.Path...); err != nil || !found || !reflect.DeepEqual(value, choice.Value) {
			add(fmt.Sprintf("%s=%v", strings.Join(choice.Path, "."), choice.Value), choice.Path, choice.Value, false)
		}
	}
	if turned > 1 {
		variations = append(variations, variation{text: "all booleans true", values: everything})
	}
	walkOptional(given.Optional, given.Defaults, nil, func(path []string, value any) {
		add(strings.Join(path, ".")+" set", path, value, true)
	})
	if len(given.Optional) > 0 {
		variations = append(variations, variation{text: "everything set", values: manifests.MergeMaps(given.Optional, everything), invented: true})
	}
	if len(apiVersions) > 0 {
		served := strings.Join(apiVersions, ", ") + " in the cluster"
		variations = append(variations,
			variation{text: served, apiVersions: apiVersions},
			variation{text: "all booleans true, and " + served, values: everything, apiVersions: apiVersions})
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

// valueAt returns values with nothing but the one at a path.
func valueAt(path []string, value any) map[string]any {
	for _, key := range slices.Backward(path[1:]) {
		value = map[string]any{key: value}
	}
	return map[string]any{path[0]: value}
}
