// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/manifest"
)

// byteOrderMark may be at the beginning of files from Windows.
const byteOrderMark = "\ufeff"

// part is a document of a file.
type part struct {
	content []byte
	line    int // number of its first line, from 1
}

// parseManifests parses YAML documents concurrently; each document may instead consist of several JSON values.
func parseManifests(content []byte) ([]*unstructured.Unstructured, error) {
	if err := manifest.CheckSize(content); err != nil {
		return nil, err
	}
	split, err := splitManifests(bytes.TrimPrefix(content, []byte(byteOrderMark)))
	if err != nil {
		return nil, err
	}
	parsed, failures := make([][]*unstructured.Unstructured, len(split)), make([]error, len(split))
	concurrent.Do(len(split), func(i int) { parsed[i], failures[i] = parseDocument(split[i]) })
	var objects []*unstructured.Unstructured
	for i := range split {
		if failures[i] != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, failures[i])
		}
		objects = append(objects, parsed[i]...)
	}
	return objects, nil
}

// splitManifests returns the documents.
func splitManifests(content []byte) ([]part, error) {
	var split []part
	begin, offset, number, first := 0, 0, 0, 1
	for line := range bytes.Lines(content) {
		number++
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok {
			if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
				return nil, fmt.Errorf("line %d: --- separates objects; only a comment may follow it on the same line", number)
			}
			if begin < offset {
				split = append(split, part{content: content[begin:offset], line: first})
			}
			begin, first = offset+len(line), number+1
		}
		offset += len(line)
	}
	return append(split, part{content: content[begin:], line: first}), nil
}

// parseDocument parses a YAML document, or JSON values.
func parseDocument(document part) ([]*unstructured.Unstructured, error) {
	if yaml.IsJSONBuffer(document.content) {
		if values, ok, err := decodeJSON(document.content); ok {
			return objectsOf(err, values...)
		}
	}
	value, err := manifest.DecodeUnique(document.content)
	var second *manifest.SecondValueError
	var equal *manifest.EqualKeysError
	above := document.line - 1
	switch {
	case errors.As(err, &second):
		return nil, &manifest.SecondValueError{Line: above + second.Line}
	case errors.As(err, &equal):
		return nil, &manifest.EqualKeysError{Key: equal.Key, Line: above + equal.Line, First: above + equal.First}
	case err != nil:
		return nil, err
	}
	return objectsOf(nil, value)
}

// decodeJSON returns all values of a text that consists of JSON only. It fails if a field occurs twice in an object.
func decodeJSON(text []byte) (values []any, ok bool, err error) {
	for decoder := stdjson.NewDecoder(bytes.NewReader(text)); ; {
		var raw stdjson.RawMessage
		if end := decoder.Decode(&raw); end != nil {
			return values, errors.Is(end, io.EOF), err
		}
		var value any
		duplicates, malformed := json.UnmarshalStrict(raw, &value, json.DisallowDuplicateFields)
		if malformed != nil {
			return nil, false, nil
		}
		err = errors.Join(err, errors.Join(duplicates...))
		values = append(values, value)
	}
}

// objectsOf returns the values, or their items, as objects.
func objectsOf(err error, values ...any) ([]*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, value := range values {
		found, err := manifest.Objects(value, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}
