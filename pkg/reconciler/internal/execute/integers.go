// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package execute

import "math"

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
