// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

// ErrAmbiguousKey means that a map has two keys such as 1 and "1". Which of them wins would be random.
var ErrAmbiguousKey = errors.New("the same key occurs in two notations")

// From here on, JSON writes whole numbers with an exponent.
const maxWholeFloat = 1e21

// Decode returns the content of a YAML document as Kubernetes does. Kubernetes converts the document to JSON and
// decodes that; skipping the JSON saves a third of the time. Like Kubernetes, Decode reads YAML 1.1, and the last of
// several equal keys wins. The content consists of maps with string keys, slices, strings, bools, int64 and float64; it
// is nil if the document holds only blanks and comments. Unlike Kubernetes, which takes the first of several values,
// Decode returns a *SecondValueError if there is more than one. It fails as CheckSize does.
func Decode(document []byte) (any, error) {
	return decode(document, false)
}

// DecodeUnique is Decode for documents in which no key may occur twice in a map; if one does, the error is an
// *EqualKeysError. A key may replace one that a merge key (<<) brings.
func DecodeUnique(document []byte) (any, error) {
	content, err := decode(document, true)
	var mistyped *yaml.TypeError
	if !errors.As(err, &mistyped) {
		return content, err
	}
	if equal := findEqualKeys(document); equal != nil {
		return nil, equal
	}
	return Decode(document)
}

// decode implements Decode. If it is strict, duplicate keys are among the reasons of a TypeError, including keys that
// replace those of a merge key.
func decode(document []byte, strict bool) (any, error) {
	if err := CheckSize(document); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(document))
	decoder.SetStrict(strict)
	var content any
	if err := decoder.Decode(&content); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if hasMore(decoder) {
		return nil, &SecondValueError{Line: lineOfSecond(document)}
	}
	return fromYAML(content)
}

// fromYAML converts the result of the YAML library to maps with string keys, slices, strings, bools, int64 and float64.
func fromYAML(value any) (any, error) {
	switch value := value.(type) {
	case map[any]any:
		return mapFromYAML(value)
	case []any:
		for i, item := range value {
			converted, err := fromYAML(item)
			if err != nil {
				return nil, err
			}
			value[i] = converted
		}
		return value, nil
	case string:
		return validText(value), nil
	case int:
		return int64(value), nil
	case uint64:
		// It is larger than int64.
		return float64(value), nil
	case float64:
		return fromFloat(value)
	default:
		return value, nil
	}
}

// validText replaces each invalid byte; only binary data has any.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

func fromFloat(value float64) (any, error) {
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return nil, fmt.Errorf("unsupported value: %v", value)
	case value == math.Trunc(value) && math.Abs(value) < maxWholeFloat:
		// In JSON it is a whole number.
		if whole, err := strconv.ParseInt(strconv.FormatFloat(value, 'f', -1, 64), 10, 64); err == nil {
			return whole, nil
		}
	}
	return value, nil
}

func mapFromYAML(value map[any]any) (any, error) {
	converted := make(map[string]any, len(value))
	for key, item := range value {
		name, err := keyFromYAML(key)
		if err != nil {
			return nil, err
		}
		if _, ok := converted[name]; ok {
			return nil, fmt.Errorf("%w: %q", ErrAmbiguousKey, name)
		}
		if converted[name], err = fromYAML(item); err != nil {
			return nil, err
		}
	}
	return converted, nil
}

func keyFromYAML(key any) (string, error) {
	switch key := key.(type) {
	case string:
		return validText(key), nil
	case int:
		return strconv.Itoa(key), nil
	case bool:
		return strconv.FormatBool(key), nil
	case float64:
		// This precision is the one that Kubernetes uses.
		return strconv.FormatFloat(key, 'g', -1, 32), nil
	default:
		return "", fmt.Errorf("a key is %v, but must be text", describe(key))
	}
}
