// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package yamltext

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// IsMap reports whether the content is a map with at least one key.
func (d *Document) IsMap() bool { return d.root != nil && isMap(d.root) && len(d.root.Content) > 0 }

// Leaves returns the paths of all values that are no maps, or maps without keys.
func (d *Document) Leaves() [][]string {
	if !d.IsMap() {
		return nil
	}
	return leaves(d.root, nil)
}

func leaves(mapping *yaml.Node, above []string) (paths [][]string) {
	for i := 0; i < len(mapping.Content); i += 2 {
		path := append(slices.Clone(above), mapping.Content[i].Value)
		if value := mapping.Content[i+1]; isMap(value) && len(value.Content) > 0 {
			paths = append(paths, leaves(value, path)...)
		} else {
			paths = append(paths, path)
		}
	}
	return paths
}

// Value returns the value at a path of keys. It consists of maps, slices and strings; the string of a scalar is its notation, which tells "1" from 1.
func (d *Document) Value(path []string) (value any, exists bool) {
	node := d.root
	for _, key := range path {
		if node == nil || !isMap(node) {
			return nil, false
		}
		node = valueOf(node, key)
	}
	if node == nil {
		return nil, false
	}
	return plain(node), true
}

func plain(node *yaml.Node) any {
	switch {
	case isMap(node):
		values := make(map[string]any, len(node.Content)/2)
		for i := 0; i < len(node.Content); i += 2 {
			values[node.Content[i].Value] = plain(node.Content[i+1])
		}
		return values
	case node.Kind == yaml.SequenceNode:
		values := make([]any, len(node.Content))
		for i, item := range node.Content {
			values[i] = plain(item)
		}
		return values
	case node.Kind == yaml.AliasNode:
		return "*" + node.Value
	}
	return notation(node)
}
