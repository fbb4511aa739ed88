// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package contents

import (
	"encoding/json"
	"fmt"
	"math"
)

// copyContent copies a value; see CopyMap.
func copyContent(path string, value any) (any, error) {
	switch value := value.(type) {
	case nil, bool, string, int64, float64:
		return value, nil
	case map[string]any:
		return CopyMap(path, value)
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			copied, err := copyContent(fmt.Sprintf("%s[%d]", path, i), item)
			if err != nil {
				return nil, err
			}
			list[i] = copied
		}
		return list, nil
	default:
		return decoded(path, value)
	}
}

// CopyMap copies the content of an unstructured object; path names it in errors. Values of types that JSON decoding never yields,
// such as int or []string, which generators may return, are converted to the types that it yields. If that is not possible, the
// error names the field.
func CopyMap(path string, value map[string]any) (map[string]any, error) {
	if value == nil {
		return nil, nil
	}
	copied := make(map[string]any, len(value))
	for key, item := range value {
		var err error
		if copied[key], err = copyContent(path+"."+key, item); err != nil {
			return nil, err
		}
	}
	return copied, nil
}

// decoded encodes a value as JSON and decodes it.
func decoded(path string, value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%s: values of type %T are not allowed: %w", path, value, err)
	}
	var result any
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, fmt.Errorf("%s: values of type %T are not allowed: %w", path, value, err)
	}
	return Integers(result), nil
}

// Integers turns numbers without a fraction into int64, as decoding of Kubernetes objects does.
func Integers(value any) any {
	switch value := value.(type) {
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return int64(value)
		}
		return value
	case map[string]any:
		for key, item := range value {
			value[key] = Integers(item)
		}
		return value
	case []any:
		for i, item := range value {
			value[i] = Integers(item)
		}
		return value
	default:
		return value
	}
}
