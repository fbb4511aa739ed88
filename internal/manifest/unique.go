// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// EqualKeysError means that a key occurs twice in a map. Decoders take the last one, and silently drop the others.
type EqualKeysError struct {
	// Key is the key.
	Key string
	// Line and First are the lines of the key and of its first occurrence, from 1.
	Line, First int
}

// Error names the key and both lines.
func (e *EqualKeysError) Error() string {
	return fmt.Sprintf("line %d: key %q is already set on line %d; a key may occur only once in a map", e.Line, e.Key, e.First)
}

// findEqualKeys returns an error about the first duplicate key of a document, if there is one.
func findEqualKeys(document []byte) *EqualKeysError {
	var root yaml.Node
	if yaml.Unmarshal(document, &root) != nil {
		return nil
	}
	return equalKeysIn(&root)
}

func equalKeysIn(node *yaml.Node) *EqualKeysError {
	seen := map[[2]string]int{}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode && child.ShortTag() != "!!merge" {
			key := [2]string{child.ShortTag(), child.Value}
			if first := seen[key]; first > 0 {
				return &EqualKeysError{Key: child.Value, Line: child.Line, First: first}
			}
			seen[key] = child.Line
		}
		if equal := equalKeysIn(child); equal != nil {
			return equal
		}
	}
	return nil
}
