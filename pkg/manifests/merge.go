// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

// MergeMaps lays y over x and returns the result, which shares no map or slice with x and y. It follows Helm's
// rules for laying given values over the defaults of a chart:
//   - maps (of type map[string]any) that are present on both sides are merged;
//   - otherwise the value of y wins, whatever the types are; slices are replaced, not merged;
//   - nil in y removes the key, if x has a value for it. If x does not have the key, nil is kept, so that it
//     still removes a default when the result is laid over other values later.
//
// The result is never nil. Values other than map[string]any and []any are taken over as they are.
func MergeMaps(x, y map[string]any) map[string]any {
	merged := make(map[string]any, len(x)+len(y))
	for key, value := range x {
		merged[key] = copyValue(value)
	}
	MergeMapInto(merged, y)
	return merged
}

// MergeMapInto is MergeMaps with the result stored in x, whose nested maps are changed in place. It does not
// change y, and x shares no map or slice with y afterwards. A nil x panics unless y is empty.
func MergeMapInto(x map[string]any, y map[string]any) {
	for key, value := range y {
		present, exists := x[key]
		if value == nil {
			if exists && present != nil {
				delete(x, key)
			} else {
				x[key] = nil
			}
			continue
		}
		under, underIsMap := present.(map[string]any)
		over, overIsMap := value.(map[string]any)
		if underIsMap && overIsMap && under != nil {
			MergeMapInto(under, over)
			continue
		}
		x[key] = copyValue(value)
	}
}

func copyValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		var out map[string]any
		if value != nil {
			out = make(map[string]any, len(value))
		}
		for key, item := range value {
			out[key] = copyValue(item)
		}
		return out
	case []any:
		var out []any
		if value != nil {
			out = make([]any, len(value))
		}
		for i, item := range value {
			out[i] = copyValue(item)
		}
		return out
	default:
		return value
	}
}
