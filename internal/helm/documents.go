// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/manifest"
)

// helmAnnotationPrefix is the prefix of all of Helm's annotations.
const helmAnnotationPrefix = "helm.sh/"

// documentInSource separates the name of a file from the number of the document in it.
const documentInSource = ", document "

// document is one document of a rendered file.
type document struct {
	source  string // names it
	content []byte
}

// documentsOf returns the documents of a rendered file, in their order.
func documentsOf(name string, content []byte) []document {
	var all []document
	for i, text := range splitDocuments(content) {
		all = append(all, document{source: name + documentInSource + strconv.Itoa(i+1), content: text})
	}
	return all
}

// parseDocuments returns the objects of documents, in their order. The error is that of the first document that has
// one.
func parseDocuments(all []document) ([]Object, error) {
	parsed := make([][]*unstructured.Unstructured, len(all))
	failures := make([]error, len(all))
	concurrent.Do(len(all), func(i int) { parsed[i], failures[i] = parseDocument(all[i].content) })
	var objects []Object
	for i, found := range parsed {
		if failures[i] != nil {
			return nil, fmt.Errorf("parsing %s: %w", all[i].source, failures[i])
		}
		for _, object := range found {
			objects = append(objects, Object{Unstructured: object, Source: all[i].source})
		}
	}
	return objects, nil
}

func parseDocument(document []byte) ([]*unstructured.Unstructured, error) {
	content, err := manifest.Decode(document)
	if err != nil {
		return nil, err
	}
	return manifest.Objects(content, inherit)
}

// inherit gives an item of a list the list's Helm annotations, unless the item has Helm annotations itself.
func inherit(list, item *unstructured.Unstructured) {
	inherited := list.GetAnnotations()
	maps.DeleteFunc(inherited, func(key string, _ string) bool { return !isHelms(key) })
	annotations := item.GetAnnotations()
	if len(inherited) == 0 || slices.ContainsFunc(slices.Collect(maps.Keys(annotations)), isHelms) {
		return
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, inherited)
	item.SetAnnotations(annotations)
}

func isHelms(annotation string) bool { return strings.HasPrefix(annotation, helmAnnotationPrefix) }
