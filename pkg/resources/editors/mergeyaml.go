// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// mergeYAML lays a document over another one. Both may be nil, which stands for a text without content.
func mergeYAML(entry, patch string) (string, error) {
	under, err := parseYAML(entry)
	if err != nil {
		return "", fmt.Errorf("the entry is not a single valid YAML document: %w", err)
	}
	over, err := parseYAML(patch)
	switch {
	case err != nil:
		return "", fmt.Errorf("the patch is not a single valid YAML document: %w", err)
	case over == nil:
		return entry, nil
	case under == nil || !isMap(under.Content[0]) || !isMap(over.Content[0]):
		return patch, nil
	}
	if !mergeMaps(under.Content[0], over.Content[0]) {
		return entry, nil
	}
	text, err := encodeYAML(under)
	if err == nil && json.Valid([]byte(entry)) {
		return asJSON(text, entry)
	}
	return text, err
}

// parseYAML returns the document of a text; nil if it has no content. Nothing in it is decoded.
func parseYAML(text string) (*yamlv3.Node, error) {
	decoder := yamlv3.NewDecoder(strings.NewReader(text))
	var document, next yamlv3.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(&next); err == nil {
		return nil, fmt.Errorf("line %d: another document begins here", next.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	// This notices keys that occur twice.
	var content any
	if err := document.Decode(&content); err != nil || content == nil {
		return nil, err
	}
	return &document, checkPlain(&document)
}

// checkPlain returns an error about the first anchor, alias or merge key: what it stands for could be changed at other
// places, too.
func checkPlain(node *yamlv3.Node) error {
	if node.Anchor != "" || node.Kind == yamlv3.AliasNode || node.ShortTag() == "!!merge" {
		return fmt.Errorf("line %d: anchors (&), aliases (*) and merge keys (<<) are not allowed here; replace them with what they stand for", node.Line)
	}
	for i, child := range node.Content {
		if isMap(node) && i%2 == 0 && child.Kind != yamlv3.ScalarNode {
			return fmt.Errorf("line %d: a key is a map or a list; must be a string", child.Line)
		}
		if err := checkPlain(child); err != nil {
			return err
		}
	}
	return nil
}

func isMap(node *yamlv3.Node) bool { return node.Kind == yamlv3.MappingNode }

// mergeMaps changes the lower map, and reports whether there was anything to change. A changed map has no braces: there
// is no place for comments in these.
func mergeMaps(under, over *yamlv3.Node) (changed bool) {
	for i := 0; i < len(over.Content); i += 2 {
		key, value := over.Content[i], over.Content[i+1]
		at := 0
		for at < len(under.Content) && under.Content[at].Value != key.Value {
			at += 2
		}
		switch {
		case at == len(under.Content):
			under.Content = append(under.Content, key, value)
			changed = true
		case isMap(under.Content[at+1]) && isMap(value):
			changed = mergeMaps(under.Content[at+1], value) || changed
		case !isSame(under.Content[at+1], value):
			if value.LineComment == "" && !isMap(value) {
				value.LineComment = under.Content[at+1].LineComment
			}
			under.Content[at+1] = value
			changed = true
		}
	}
	if changed {
		under.Style &^= yamlv3.FlowStyle
	}
	return changed
}

const quoted = yamlv3.SingleQuotedStyle | yamlv3.DoubleQuotedStyle | yamlv3.LiteralStyle | yamlv3.FoldedStyle

// isSame reports whether two values are the same to every reader: some take yes for true, but none takes "yes" for
// that.
func isSame(a, b *yamlv3.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value && (a.Style&quoted == 0) == (b.Style&quoted == 0) && slices.EqualFunc(a.Content, b.Content, isSame)
}

// encodeYAML returns the text of a document, in the layout that Kubernetes has.
func encodeYAML(document *yamlv3.Node) (string, error) {
	var text strings.Builder
	encoder := yamlv3.NewEncoder(&text)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(document); err != nil {
		return "", err
	}
	return text.String(), encoder.Close()
}

// asJSON returns a document as JSON, in one line or in several as the entry had it.
func asJSON(text, entry string) (string, error) {
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil || !strings.Contains(strings.TrimSpace(entry), "\n") {
		return string(content), err
	}
	var indented bytes.Buffer
	err = json.Indent(&indented, content, "", "  ")
	return indented.String(), err
}
