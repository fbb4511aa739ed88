// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// decode is the reverse of encode. The target has an address, and is zero.
func decode(encoded any, target reflect.Value) error {
	target = opened(target)
	if encoded == nil {
		return nil
	}
	if target.Kind() == reflect.Interface {
		target.Set(reflect.ValueOf(encoded))
		return nil
	}
	switch content := encoded.(type) {
	case bool:
		if target.Kind() == reflect.Bool {
			target.SetBool(content)
			return nil
		}
	case int64:
		if target.CanInt() {
			target.SetInt(content)
			return nil
		}
	case float64:
		if target.CanFloat() {
			target.SetFloat(content)
			return nil
		}
	case string:
		return decodeText(content, target)
	case []any:
		return decodeParts(content, target)
	}
	return mismatch(encoded, target)
}

// mismatch can only happen if the programs on both sides differ.
func mismatch(encoded any, target reflect.Value) error {
	return fmt.Errorf("a %T was sent for a %s", encoded, target.Type())
}

func decodeText(text string, target reflect.Value) error {
	if moment, ok := target.Addr().Interface().(*time.Time); ok {
		return moment.UnmarshalBinary([]byte(text))
	}
	switch {
	case target.Kind() == reflect.String:
		target.SetString(text)
	case target.CanUint():
		number, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return err
		}
		target.SetUint(number)
	case target.Kind() == reflect.Slice && target.Type().Elem().Kind() == reflect.Uint8:
		target.SetBytes([]byte(text))
	default:
		return mismatch(text, target)
	}
	return nil
}

func decodeParts(parts []any, target reflect.Value) error {
	switch target.Kind() {
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
	case reflect.Slice:
		target.Set(reflect.MakeSlice(target.Type(), len(parts), len(parts)))
	case reflect.Map:
		return decodeMap(parts, target)
	case reflect.Struct, reflect.Array:
	default:
		return mismatch(parts, target)
	}
	names, targets := partsOf(target)
	if len(targets) != len(parts) {
		return mismatch(parts, target)
	}
	for i, part := range parts {
		if err := decode(part, targets[i]); err != nil {
			return fmt.Errorf("%s: %w", names[i], err)
		}
	}
	return nil
}

func decodeMap(parts []any, target reflect.Value) error {
	if len(parts)%2 != 0 {
		return mismatch(parts, target)
	}
	target.Set(reflect.MakeMapWithSize(target.Type(), len(parts)/2))
	for i := 0; i < len(parts); i += 2 {
		key, value := reflect.New(target.Type().Key()).Elem(), reflect.New(target.Type().Elem()).Elem()
		if err := decode(parts[i], key); err != nil {
			return err
		}
		if err := decode(parts[i+1], value); err != nil {
			return fmt.Errorf("key %v: %w", key, err)
		}
		target.SetMapIndex(key, value)
	}
	return nil
}
