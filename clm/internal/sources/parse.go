// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// guessSize is how much is looked at to tell JSON from YAML.
const guessSize = 4096

// parseManifests reads YAML documents, several side by side, or JSON values.
func parseManifests(content []byte) ([]*unstructured.Unstructured, error) {
	if err := checkSeparators(content); err != nil {
		return nil, err
	}
	documents, err := splitManifests(content)
	if err != nil {
		return nil, err
	}
	parsed, failures := make([][]*unstructured.Unstructured, len(documents)), make([]error, len(documents))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(len(documents), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				parsed[i], failures[i] = parseDocument(documents[i])
			}
		})
	}
	for i := range documents {
		next <- i
	}
	close(next)
	workers.Wait()
	var objects []*unstructured.Unstructured
	for i := range documents {
		if failures[i] != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, failures[i])
		}
		objects = append(objects, parsed[i]...)
	}
	return objects, nil
}

// splitManifests returns the YAML documents; a single one if the content is JSON, which may consist of several values.
func splitManifests(content []byte) ([][]byte, error) {
	if yaml.IsJSONBuffer(content[:min(len(content), guessSize)]) {
		return [][]byte{content}, nil
	}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var documents [][]byte
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(documents)+1, err)
		}
		documents = append(documents, document)
	}
}

func parseDocument(document []byte) ([]*unstructured.Unstructured, error) {
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
		raw.Raw = bytes.TrimSpace(raw.Raw)
		if len(raw.Raw) == 0 || bytes.Equal(raw.Raw, []byte("null")) {
			continue // there are only comments
		}
		if raw.Raw[0] != '{' {
			return nil, fmt.Errorf("it must be an object, with apiVersion, kind and metadata, and is %s", jsonType(raw.Raw))
		}
		found, err := decodeManifest(raw.Raw)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
}

// checkSeparators refuses documents in which an object begins anew: the separator is missing, and of fields that are there twice the last one
// counts, so that nothing would be left of the first object. The fields are looked for at the beginnings of lines, where nothing else can
// be that looks like them.
func checkSeparators(content []byte) error {
	lines := map[string]int{}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if bytes.HasPrefix(line, []byte("---")) {
			clear(lines)
			continue
		}
		for _, field := range []string{"apiVersion", "kind"} {
			if !bytes.HasPrefix(line, []byte(field+":")) {
				continue
			}
			if lines[field] > 0 {
				return fmt.Errorf("line %d: %s is there already, in line %d; objects must be separated by lines with ---", number, field, lines[field])
			}
			lines[field] = number
		}
	}
	return nil
}

// jsonType says what a value is that is no object.
func jsonType(raw []byte) string {
	switch raw[0] {
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	default:
		return "a number"
	}
}
