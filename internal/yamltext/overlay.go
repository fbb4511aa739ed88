// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package yamltext

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// CheckOverlay returns an error if a document cannot be laid over others, because it has anchors, aliases or merge keys (<<). Their names might mean something else there.
func (d *Document) CheckOverlay() error {
	if d.root == nil {
		return nil
	}
	return checkPlain(d.root)
}

func checkPlain(node *yaml.Node) error {
	if node.Kind == yaml.AliasNode || node.Anchor != "" || isMergeKey(node) {
		return fmt.Errorf("line %d: anchors (&), aliases (*) and merge keys (<<) are not allowed here; replace them with what they stand for", node.Line)
	}
	for _, child := range node.Content {
		if err := checkPlain(child); err != nil {
			return err
		}
	}
	return nil
}

func isMergeKey(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Style&quoted == 0 && (key.Tag == "" || key.ShortTag() == "!!merge")
}

// Overlay returns the text of this document with another one laid over it, for which CheckOverlay has no error. Maps are merged, at all depths; all other values are replaced.
// A document without content changes nothing, and is replaced by any other one. A text that has all that is laid over it stays as it is.
//
// JSON stays JSON. YAML is written again: scalars keep their notation, keys their order, and comments stay; blank lines get lost, and indentation may change.
//
// The error names the line of this document. It is an error to change what an alias stands for, and to merge a map into an alias, or into a map that a merge key (<<) may bring. It
// is an error if JSON would get a value that it has no form for.
func (d *Document) Overlay(over *Document) (string, error) {
	if over.root == nil {
		return d.text, nil
	}
	switch {
	case d.root == nil:
		return over.text, nil
	case isMap(d.root) && isMap(over.root):
		return d.mergeMaps(over)
	case isSame(d.root, over.root):
		return d.text, nil
	}
	return over.text, nil
}

func (d *Document) mergeMaps(over *Document) (string, error) {
	m := merger{aliases: map[string]int{}}
	m.findAliases(d.root)
	merged, err := m.merge(d.root, over.root)
	if err != nil || merged == d.root {
		return d.text, err
	}
	if json.Valid([]byte(d.text)) {
		return writeJSON(merged, d.text)
	}
	text, err := encode(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{merged}, FootComment: d.foot})
	if err != nil {
		return "", err
	}
	if text = d.header + text; !isTextOf(text, merged) {
		return "", errors.New("the result cannot be written with the same values; use a simpler notation")
	}
	return text, nil
}

// isTextOf reports whether a text is that of a document.
func isTextOf(text string, root *yaml.Node) bool {
	parsed, err := Parse(text)
	return err == nil && parsed.root != nil && isSame(parsed.root, root) && hasSameAnchors(parsed.root, root)
}

// merger merges nodes of a document.
type merger struct {
	// aliases has, for each anchor that is referred to, the line of the first alias.
	aliases map[string]int
}

func (m merger) findAliases(node *yaml.Node) {
	if node.Kind == yaml.AliasNode && m.aliases[node.Value] == 0 {
		m.aliases[node.Value] = node.Line
	}
	for _, child := range node.Content {
		m.findAliases(child)
	}
}

// merge lays a value over another one. It changes neither, but the result shares nodes with both. If nothing changes, the result is the node itself.
func (m merger) merge(under, over *yaml.Node) (*yaml.Node, error) {
	switch {
	case isMap(over) && under.Kind == yaml.AliasNode:
		return nil, fmt.Errorf("line %d: a map cannot be merged into the alias *%s; replace it with a map", under.Line, under.Value)
	case isMap(over) && isMap(under):
		return m.mergeMaps(under, over)
	case isSame(under, over):
		return under, nil
	}
	if err := m.checkUnused(under); err != nil {
		return nil, err
	}
	if under.Kind == yaml.ScalarNode && over.Kind == yaml.ScalarNode && over.LineComment == "" {
		replaced := *over
		replaced.LineComment = under.LineComment
		return &replaced, nil
	}
	return over, nil
}

func (m merger) mergeMaps(under, over *yaml.Node) (*yaml.Node, error) {
	merged := *under
	merged.Content = slices.Clone(under.Content)
	hasMergeKey := slices.ContainsFunc(under.Content, isMergeKey)
	changed := false
	for i := 0; i < len(over.Content); i += 2 {
		key, above := over.Content[i], over.Content[i+1]
		below := valueOf(under, key.Value)
		if below == nil {
			if hasMergeKey && isMap(above) {
				return nil, fmt.Errorf("line %d: key %q may come from the merge key (<<) of this map, and a map cannot be merged into that; add the key to the map itself",
					under.Line, key.Value)
			}
			if under.Style&yaml.FlowStyle != 0 {
				key, above = inBraces(key), inBraces(above)
			}
			merged.Content = append(merged.Content, key, above)
			changed = true
			continue
		}
		value, err := m.merge(below, above)
		if err != nil {
			return nil, err
		}
		merged.Content[slices.Index(under.Content, below)] = value
		changed = changed || value != below
	}
	if !changed {
		return under, nil
	}
	return &merged, m.checkAnchor(under)
}

// inBraces returns a copy of a value without comments, for which there is no place in braces.
func inBraces(node *yaml.Node) *yaml.Node {
	bare := *node
	bare.HeadComment, bare.LineComment, bare.FootComment = "", "", ""
	bare.Content = make([]*yaml.Node, len(node.Content))
	for i, child := range node.Content {
		bare.Content[i] = inBraces(child)
	}
	return &bare
}

// checkUnused returns an error if an alias stands for a value, or for something in it.
func (m merger) checkUnused(node *yaml.Node) error {
	if err := m.checkAnchor(node); err != nil {
		return err
	}
	for _, child := range node.Content {
		if err := m.checkUnused(child); err != nil {
			return err
		}
	}
	return nil
}

func (m merger) checkAnchor(node *yaml.Node) error {
	if line := m.aliases[node.Anchor]; line > 0 && node.Anchor != "" {
		return fmt.Errorf("line %d: the value with the anchor &%s cannot be changed, because line %d has an alias of it; replace the alias with a copy",
			node.Line, node.Anchor, line)
	}
	return nil
}

// encode returns the text of a value, in the layout that Kubernetes has.
func encode(root *yaml.Node) (string, error) {
	var text strings.Builder
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(root); err != nil {
		return "", err
	}
	return text.String(), encoder.Close()
}
