// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/hasher"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Hash returns the suffix that the generators would give a ConfigMap or Secret: ten characters that depend on its kind,
// name, data and, for a Secret, type.
func Hash(object *unstructured.Unstructured) (string, error) {
	content := map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": map[string]any{"name": object.GetName()}}
	for _, field := range []string{"data", "binaryData", "stringData", "type"} {
		if value, exists := object.Object[field]; exists {
			content[field] = value
		}
	}
	node, err := yaml.FromMap(content)
	if err != nil {
		return "", fmt.Errorf("encoding the content: %w", err)
	}
	return (&hasher.Hasher{}).Hash(node)
}
