// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/scaffold/internal/values"
)

// maxVariations limits the number of renderings.
const maxVariations = 200

// A variation is a set of values that differ from the defaults.
type variation struct {
	// text describes the variation in messages.
	text   string
	values map[string]any
	// apiVersions are served by the cluster in addition to those of Kubernetes.
	apiVersions []string
	// invented means that a value is made up, so the manifests may rightly refuse it.
	invented bool
}

// variationsOf returns variations of the given values, and the number of values that were left out because of
// maxVariations. Each variation inverts one boolean or sets one choice or optional value. Further ones set all booleans
// to true that can be, set everything, or assume a cluster that serves all versions that the manifests ask for.
func variationsOf(given *values.Types, apiVersions []string) (variations []variation, left int) {
	add := func(text string, path []string, value any, invented bool) {
		if len(variations) == maxVariations {
			left++
			return
		}
		variations = append(variations, variation{text: text, values: values.At(path, value), invented: invented})
	}
	values.Walk(given.Defaults, nil, func(path []string, value any) bool {
		if on, isBoolean := value.(bool); isBoolean {
			add(fmt.Sprintf("%s=%t", strings.Join(path, "."), !on), path, !on, false)
		}
		return true
	})
	turned := len(variations)
	for _, choice := range given.Choices {
		if value, found, err := unstructured.NestedFieldNoCopy(given.Defaults, choice.Path...); err != nil || !found || !reflect.DeepEqual(value, choice.Value) {
			add(fmt.Sprintf("%s=%v", strings.Join(choice.Path, "."), choice.Value), choice.Path, choice.Value, false)
		}
	}
	if turned > 1 {
		variations = append(variations, variation{text: "all booleans true", values: given.On})
	}
	values.Walk(given.Optional, nil, func(path []string, value any) bool {
		_, isMap := value.(map[string]any)
		// A map that is missing by default is set as a whole, because its fields may be required together.
		existing, _, _ := unstructured.NestedFieldNoCopy(given.Defaults, path...)
		if fields, _ := existing.(map[string]any); isMap && len(fields) > 0 {
			return true
		}
		add(strings.Join(path, ".")+" set", path, value, true)
		return false
	})
	if len(given.Optional) > 0 {
		variations = append(variations, variation{text: "everything set", values: manifests.MergeMaps(given.Optional, given.On), invented: true})
	}
	if len(apiVersions) > 0 {
		served := strings.Join(apiVersions, ", ") + " in the cluster"
		variations = append(variations,
			variation{text: served, apiVersions: apiVersions},
			variation{text: "all booleans true, and " + served, values: given.On, apiVersions: apiVersions})
	}
	return variations, left
}
