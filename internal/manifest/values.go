// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Normalize returns a copy of the given values with nothing but string-keyed maps, slices and scalars, whose numbers
// are int64 or float64. Renderers silently ignore, refuse, or might change other types, such as a []string, a
// json.Number or a pointer to a struct, which a hand-written ToUnstructured may return, and the copying of unstructured
// objects panics. The result is never nil. An error names the value: it has no JSON form, or is an integer beyond
// int64.
func Normalize(values map[string]any) (map[string]any, error) {
	normalized, err := normalizeMap(values)
	var located *locatedError
	if errors.As(err, &located) {
		return nil, fmt.Errorf("value %s %w", located.path[1:], located.err)
	}
	return normalized, err
}

// IsNormal reports whether Normalize would return equal values.
func IsNormal(value any) bool {
	switch value := value.(type) {
	case nil, bool, string, int64, float64:
		return true
	case map[string]any:
		for _, item := range value {
			if !IsNormal(item) {
				return false
			}
		}
		return true
	case []any:
		for _, item := range value {
			if !IsNormal(item) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// locatedError says what is wrong with a value. The path is made on the way back: usually, nothing is wrong.
type locatedError struct {
	path string
	err  error
}

func (e *locatedError) Error() string { return e.err.Error() }

// at returns the error with a path below the given one.
func at(path string, err error) error {
	var located *locatedError
	if errors.As(err, &located) {
		return &locatedError{path: path + located.path, err: located.err}
	}
	return &locatedError{path: path, err: err}
}

func normalizeMap(values map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(values))
	for key, value := range values {
		normalized, err := normalizeValue(value)
		if err != nil {
			return nil, at("."+key, err)
		}
		out[key] = normalized
	}
	return out, nil
}

func normalizeValue(value any) (any, error) {
	switch value := value.(type) {
	case nil, bool, string, int64:
		return value, nil
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("is %v, which JSON does not have", value)
		}
		return value, nil
	case map[string]any:
		return normalizeMap(value)
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			normalized, err := normalizeValue(item)
			if err != nil {
				return nil, at("["+strconv.Itoa(i)+"]", err)
			}
			out[i] = normalized
		}
		return out, nil
	case json.Number:
		return fromNumber(value)
	default:
		return viaJSON(value)
	}
}

// viaJSON makes a value of another type one of those that JSON has.
func viaJSON(value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("has type %T, which has no JSON form: %w", value, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("has type %T, which has no JSON form: %w", value, err)
	}
	return normalizeValue(out)
}

// fromNumber returns an int64 or a float64.
func fromNumber(number json.Number) (any, error) {
	if strings.ContainsAny(number.String(), ".eE") {
		return number.Float64()
	}
	whole, err := number.Int64()
	if err != nil {
		return nil, fmt.Errorf("is %s, and integers are from %d to %d", number, int64(math.MinInt64), int64(math.MaxInt64))
	}
	return whole, nil
}

// IsNil reports whether a value is nil, or a nil pointer.
func IsNil(value any) bool {
	if value == nil {
		return true
	}
	pointer := reflect.ValueOf(value)
	return pointer.Kind() == reflect.Pointer && pointer.IsNil()
}
