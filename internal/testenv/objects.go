// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Objects parses YAML documents into objects. Empty documents are left out; a document of another form ends the
// test. Indentation with tabs, as it comes from Go source, is not YAML.
func Objects(tb testing.TB, documents string) []*unstructured.Unstructured {
	tb.Helper()
	var result []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(documents), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return result
		case err != nil:
			tb.Fatalf("parsing YAML: %v", err)
		case len(object.Object) == 0:
			continue
		case object.GetKind() == "" || object.GetAPIVersion() == "":
			tb.Fatalf("parsing YAML: a document without apiVersion or kind: %v", object.Object)
		}
		result = append(result, object)
	}
}

// Object parses one YAML document into an object.
func Object(tb testing.TB, document string) *unstructured.Unstructured {
	tb.Helper()
	objects := Objects(tb, document)
	if len(objects) != 1 {
		tb.Fatalf("parsing YAML: got %d objects, want 1", len(objects))
	}
	return objects[0]
}
