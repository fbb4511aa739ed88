// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Normalize returns a copy of the given values with nothing but string-keyed maps, slices and scalars, whose
// numbers are int64 or float64. Renderers silently ignore, refuse, or might change other types, such
// as a []string, a json.Number or a pointer to a struct, which a hand-written ToUnstructured may return. The
// result is never nil.
func Normalize(values map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(values))
	for key, value := range values {
		normalized, err := normalizeValue(value, key)
		if err != nil {
			return nil, err
		}
		out[key] = normalized
	}
	return out, nil
}

func normalizeValue(value any, path string) (any, error) {
	switch value := value.(type) {
	case nil, bool, string, int64, float64:
		return value, nil
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			normalized, err := normalizeValue(item, path+"."+key)
			if err != nil {
				return nil, err
			}
			out[key] = normalized
		}
		return out, nil
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			normalized, err := normalizeValue(item, path+"["+strconv.Itoa(i)+"]")
			if err != nil {
				return nil, err
			}
			out[i] = normalized
		}
		return out, nil
	default:
		return viaJSON(value, path)
	}
}

func viaJSON(value any, path string) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("value %s has type %T, which has no JSON form: %w", path, value, err)
	}
	var out any
	if err := utiljson.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("value %s has type %T, which has no JSON form: %w", path, value, err)
	}
	return out, nil
}

// IsNil reports whether a value is nil, or a nil pointer.
func IsNil(value any) bool {
	if value == nil {
		return true
	}
	pointer := reflect.ValueOf(value)
	return pointer.Kind() == reflect.Pointer && pointer.IsNil()
}
