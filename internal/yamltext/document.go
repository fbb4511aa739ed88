// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package yamltext

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is a YAML document, with the text that it was parsed from. It does not change.
type Document struct {
	text string
	// header are the lines before the content: directives, comments, and the line with --- that ends them. It is empty if there is no such line.
	header string
	root   *yaml.Node // nil if the document has no content, or null
	foot   string     // the comment after the content
}

// Parse returns the document of a text. An empty text, or one with nothing but comments, is a document without content. The error names the line. It is an error if there are
// several documents, if a key occurs twice in a map, and if a key is a map, a list or an alias. Keys are the same if their texts are, whether they are quoted or not.
func Parse(text string) (*Document, error) {
	d := &Document{text: text, header: headerOf(text)}
	// Without the header, but with its lines, so that errors name the right ones.
	decoder := yaml.NewDecoder(strings.NewReader(strings.Repeat("\n", strings.Count(d.header, "\n")) + text[len(d.header):]))
	for first := true; ; first = false {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if len(node.Content) == 0 {
			continue
		}
		switch content := node.Content[0]; {
		case content.Kind == yaml.ScalarNode && content.ShortTag() == "!!null":
		case !first:
			return nil, fmt.Errorf("line %d: another document begins here; must be a single document", content.Line)
		default:
			d.root, d.foot = content, node.FootComment
		}
	}
	if d.root == nil {
		return d, nil
	}
	return d, checkKeys(d.root)
}

// HasContent reports whether there is anything but comments and null.
func (d *Document) HasContent() bool { return d.root != nil }

// headerOf returns the lines of a text up to the one with --- that begins its content.
func headerOf(text string) string {
	end := 0
	for line := range strings.Lines(text) {
		end += len(line)
		rest, marker := strings.CutPrefix(line, "---")
		switch rest := strings.TrimSpace(rest); {
		case marker && (rest == "" || rest[0] == '#') && strings.HasSuffix(line, "\n"):
			return text[:end]
		case marker || rest != "" && rest[0] != '#' && rest[0] != '%':
			return ""
		}
	}
	return ""
}

// checkKeys returns an error about the first key below a node that is not allowed.
func checkKeys(node *yaml.Node) error {
	lines := map[string]int{}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			if isMergeKey(child) {
				child.Tag = "" // it would be written
			}
			if child.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: a key is a map, a list or an alias; must be a string", child.Line)
			}
			if first, ok := lines[child.Value]; ok {
				return fmt.Errorf("line %d: key %q is already set on line %d; a key may occur only once in a map", child.Line, child.Value, first)
			}
			lines[child.Value] = child.Line
		}
		if err := checkKeys(child); err != nil {
			return err
		}
	}
	return nil
}

// valueOf returns the value of a key of a map, and nil if there is none.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// isMap reports whether a value is a map. An alias of a map is none.
func isMap(node *yaml.Node) bool { return node.Kind == yaml.MappingNode }
