// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/component-operator/runtime/internal/documents"
	"github.com/component-operator/runtime/internal/parallel"
)

// guessSize is how much is looked at to tell JSON from YAML.
const guessSize = 4096

// parseManifests reads YAML documents, several side by side, or JSON values.
func parseManifests(content []byte) ([]*unstructured.Unstructured, error) {
	split, err := splitManifests(content)
	if err != nil {
		return nil, err
	}
	parsed, failures := make([][]*unstructured.Unstructured, len(split)), make([]error, len(split))
	parallel.Do(len(split), func(i int) { parsed[i], failures[i] = parseDocument(split[i]) })
	var objects []*unstructured.Unstructured
	for i := range split {
		if failures[i] != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, failures[i])
		}
		objects = append(objects, parsed[i]...)
	}
	return objects, nil
}

// splitManifests returns the YAML documents; a single one if the content is JSON, which may consist of several values. It refuses documents in which an
// object begins anew: the separator is missing, and of fields that are there twice the last one counts, so that nothing would be left of
// the first object. The fields are looked for at the beginnings of lines, where nothing else can be that looks like them.
func splitManifests(content []byte) ([][]byte, error) {
	if yaml.IsJSONBuffer(content[:min(len(content), guessSize)]) {
		return [][]byte{content}, nil
	}
	var split [][]byte
	begin, offset, number := 0, 0, 0
	seen := map[string]int{} // where a field is in the document
	for line := range bytes.Lines(content) {
		number++
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok {
			if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
				return nil, fmt.Errorf("line %d: --- separates objects; nothing may follow it in its line but a comment", number)
			}
			if begin < offset {
				split = append(split, content[begin:offset])
			}
			begin = offset + len(line)
			clear(seen)
		}
		for _, field := range []string{"apiVersion", "kind"} {
			if !bytes.HasPrefix(line, []byte(field+":")) {
				continue
			}
			if seen[field] > 0 {
				return nil, fmt.Errorf("line %d: %s is there already, in line %d; objects must be separated by lines with ---", number, field, seen[field])
			}
			seen[field] = number
		}
		offset += len(line)
	}
	return append(split, content[begin:]), nil
}

// parseDocument reads a YAML document, or what may be JSON values.
func parseDocument(document []byte) ([]*unstructured.Unstructured, error) {
	if !yaml.IsJSONBuffer(document) {
		content, err := documents.Decode(document)
		if err != nil {
			return nil, err
		}
		return documents.Objects(content, nil)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(document), guessSize)
	var objects []*unstructured.Unstructured
	for {
		var raw apiruntime.RawExtension
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		var content any
		if len(raw.Raw) > 0 {
			if err := json.Unmarshal(raw.Raw, &content); err != nil {
				return nil, err
			}
		}
		found, err := documents.Objects(content, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
}
