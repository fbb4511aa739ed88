// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// newDecoder returns a decoder that accepts what the standard serializer accepts.
func newDecoder(reader io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(reader, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// newBytesDecoder returns a decoder of bytes, which it does not copy because they are in a bytes.Buffer.
func newBytesDecoder(data []byte) *jsontext.Decoder { return newDecoder(bytes.NewBuffer(data)) }

var errTrailingData = errors.New("there is data after the value")

// decodeValue returns a JSON value in the form that unstructured objects have: integers are int64, if they fit.
func decodeValue(data []byte) (any, error) {
	decoder := newBytesDecoder(data)
	value, err := nextValue(decoder)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errTrailingData
	}
	return value, nil
}

func nextValue(decoder *jsontext.Decoder) (any, error) {
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject:
		return nextFields(decoder)
	case jsontext.KindBeginArray:
		return nextElements(decoder)
	case jsontext.KindString:
		return token.String(), nil
	case jsontext.KindNumber:
		return number(token.String())
	case jsontext.KindTrue, jsontext.KindFalse:
		return token.Bool(), nil
	case jsontext.KindNull, jsontext.KindInvalid, jsontext.KindEndObject, jsontext.KindEndArray:
		// It is null: instead of the others, there is an error.
	}
	return nil, nil //nolint:nilnil // the value null
}

// nextFields returns an object whose beginning was read.
func nextFields(decoder *jsontext.Decoder) (map[string]any, error) {
	fields := map[string]any{}
	for {
		token, err := decoder.ReadToken()
		if err != nil || token.Kind() == jsontext.KindEndObject {
			return fields, err
		}
		name := token.String() // the token is valid until the next one is read
		if fields[name], err = nextValue(decoder); err != nil {
			return nil, err
		}
	}
}

// nextElements returns an array whose beginning was read.
func nextElements(decoder *jsontext.Decoder) ([]any, error) {
	elements := []any{}
	for decoder.PeekKind() != jsontext.KindEndArray {
		element, err := nextValue(decoder)
		if err != nil {
			return nil, err
		}
		elements = append(elements, element)
	}
	_, err := decoder.ReadToken()
	return elements, err
}

func number(text string) (any, error) {
	if integer, err := strconv.ParseInt(text, 10, 64); err == nil {
		return integer, nil
	}
	return strconv.ParseFloat(text, 64)
}
