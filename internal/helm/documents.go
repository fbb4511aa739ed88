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

	"github.com/component-operator/runtime/internal/documents"
)

// helmAnnotationPrefix is the prefix of all of Helm's annotations.
const helmAnnotationPrefix = "helm.sh/"

// documentInSource separates the name of a file from the number of the document in it.
const documentInSource = ", document "

// parseDocuments returns the objects of a rendered file, in their order.
func parseDocuments(name string, content string) ([]Object, error) {
	var objects []Object
	for i, document := range splitDocuments(content) {
		source := name + documentInSource + strconv.Itoa(i+1)
		found, err := parseDocument(document)
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", source, err)
		}
		for _, object := range found {
			objects = append(objects, Object{Unstructured: object, Source: source})
		}
	}
	return objects, nil
}

func parseDocument(document string) ([]*unstructured.Unstructured, error) {
	content, err := documents.Decode([]byte(document))
	if err != nil {
		return nil, err
	}
	return documents.Objects(content, inherit)
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
