// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unsafe"
)

// Values of Go types are transferred field by field. Their JSON form lacks the loaded content of Secrets and
// ConfigMaps that a component refers to, which is in unexported fields.

// maxDepth is far beyond what a component needs; only a value that refers to itself exceeds it.
const maxDepth = 1000

// encode returns the value as nested lists, maps and scalars.
func encode(value reflect.Value, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("it refers to itself")
	}
	value = opened(value)
	if moment, ok := value.Interface().(time.Time); ok {
		// It refers to its time zone, which must not be copied.
		raw, err := moment.MarshalBinary()
		return string(raw), err
	}
	switch value.Kind() {
	case reflect.Bool:
		return value.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return value.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		// Large ones do not fit into an int64, in which integers arrive.
		return strconv.FormatUint(value.Uint(), 10), nil
	case reflect.Float32, reflect.Float64:
		return value.Float(), nil
	case reflect.String:
		return value.String(), nil
	case reflect.Struct, reflect.Array, reflect.Slice, reflect.Map, reflect.Pointer:
		return encodeNested(value, depth+1)
	case reflect.Interface:
		return encodeInterface(value)
	default: // functions, channels, and what is even less data
		if value.IsZero() {
			return nil, nil
		}
		return nil, fmt.Errorf("a %s cannot be sent", value.Type())
	}
}

func encodeNested(value reflect.Value, depth int) (any, error) {
	if kind := value.Kind(); kind != reflect.Struct && kind != reflect.Array && value.IsNil() {
		return nil, nil
	}
	if value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Uint8 {
		return string(value.Bytes()), nil
	}
	names, parts := partsOf(value)
	encoded := make([]any, 0, len(parts))
	for i, part := range parts {
		one, err := encode(part, depth)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names[i], err)
		}
		encoded = append(encoded, one)
	}
	return encoded, nil
}

// partsOf returns the parts of a value, with names for messages. Those of a map are key, value, key, value and so on.
func partsOf(value reflect.Value) (names []string, parts []reflect.Value) {
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			names, parts = append(names, "field "+value.Type().Field(i).Name), append(parts, value.Field(i))
		}
	case reflect.Map:
		for iterator := value.MapRange(); iterator.Next(); {
			name := fmt.Sprintf("key %v", iterator.Key())
			names, parts = append(names, name, name), append(parts, iterator.Key(), iterator.Value())
		}
	case reflect.Pointer:
		names, parts = []string{value.Type().String()}, []reflect.Value{value.Elem()}
	default: // slices and arrays
		for i := range value.Len() {
			names, parts = append(names, fmt.Sprintf("item %d", i+1)), append(parts, value.Index(i))
		}
	}
	return names, parts
}

// encodeInterface accepts data that can be decoded without its Go type.
func encodeInterface(value reflect.Value) (any, error) {
	switch content := value.Interface().(type) {
	case nil:
		return nil, nil
	case map[string]any, []any, string, bool, int64, float64:
		return numericValue(content)
	default:
		return nil, fmt.Errorf("a %T behind a %s cannot be sent", content, value.Type())
	}
}

// opened returns the value, or a copy, with an address, so that its fields, also unexported ones, can be read and set.
func opened(value reflect.Value) reflect.Value {
	if !value.CanAddr() {
		copied := reflect.New(value.Type()).Elem()
		copied.Set(value)
		return copied
	}
	return reflect.NewAt(value.Type(), unsafe.Pointer(value.UnsafeAddr())).Elem()
}
