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
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// ConfigMapDataEditor edits the entries of a ConfigMap. An entry is identified by its key. Since the API server allows
// a key only once, setting it in one of the fields data and binaryData removes it from the other one.
type ConfigMapDataEditor struct {
	configMap *corev1.ConfigMap
}

// NewConfigMapDataEditor returns an editor of the entries of the given ConfigMap.
func NewConfigMapDataEditor(configMap *corev1.ConfigMap) *ConfigMapDataEditor {
	return &ConfigMapDataEditor{configMap: orNew(configMap)}
}

// Raw returns the field data, which it creates if it is nil.
func (e *ConfigMapDataEditor) Raw() map[string]string { return created(&e.configMap.Data) }

// RawBinary returns the field binaryData, which it creates if it is nil.
func (e *ConfigMapDataEditor) RawBinary() map[string][]byte { return created(&e.configMap.BinaryData) }

// Set sets an entry of data.
func (e *ConfigMapDataEditor) Set(key, value string) {
	delete(e.configMap.BinaryData, key)
	put(&e.configMap.Data, key, value)
}

// Remove removes an entry of data.
func (e *ConfigMapDataEditor) Remove(key string) { delete(e.configMap.Data, key) }

// SetBinary sets an entry of binaryData; nil sets an empty one.
func (e *ConfigMapDataEditor) SetBinary(key string, value []byte) {
	delete(e.configMap.Data, key)
	put(&e.configMap.BinaryData, key, copyBytes(value))
}

// RemoveBinary removes an entry of binaryData.
func (e *ConfigMapDataEditor) RemoveBinary(key string) { delete(e.configMap.BinaryData, key) }

// MergeYAML merges a YAML document, the patch, into the one in an entry of data. Maps are merged at all depths; keys
// are compared as text. All other values are replaced, including lists; null is a value, too. If the entry or the patch
// is not a map, the patch replaces the entry. An empty patch changes nothing. A missing or empty entry becomes the text
// of the patch.
//
// Keys and values, such as off, 1.10, 012 and numbers with many digits, are written as they are in the entry or in the
// patch. An entry that already has the values of the patch stays the same, byte for byte. Otherwise it is rewritten:
// keys keep their order, new ones come last, and comments stay; blank lines and document markers are lost, changed maps
// lose their braces, and indentation may change. JSON stays JSON, with sorted keys; its values are then read as YAML
// 1.1, where off is false.
//
// The error reports whether the entry or the patch is invalid. Each must be one YAML document without anchors, aliases
// and merge keys (<<). Keys must be unique within a map, and must not be maps or lists.
func (e *ConfigMapDataEditor) MergeYAML(key, patch string) error {
	merged, err := mergeYAML(e.configMap.Data[key], patch)
	if err != nil {
		return fmt.Errorf("merging YAML into the entry %q: %w", key, err)
	}
	if _, exists := e.configMap.Data[key]; exists || merged != "" {
		e.Set(key, merged)
	}
	return nil
}

// copyBytes returns a copy that is not nil, because JSON encodes a nil slice as null.
func copyBytes(value []byte) []byte { return append([]byte{}, value...) }

// SecretDataEditor edits the entries of a Secret. An entry is identified by its key. Since the API server prefers
// stringData, setting a key in one of the fields data and stringData removes it from the other one.
type SecretDataEditor struct {
	secret *corev1.Secret
}

// NewSecretDataEditor returns an editor of the entries of the given Secret.
func NewSecretDataEditor(secret *corev1.Secret) *SecretDataEditor {
	return &SecretDataEditor{secret: orNew(secret)}
}

// Raw returns the field data, which it creates if it is nil. The values are not encoded.
func (e *SecretDataEditor) Raw() map[string][]byte { return created(&e.secret.Data) }

// RawStringData returns the field stringData, which it creates if it is nil.
func (e *SecretDataEditor) RawStringData() map[string]string { return created(&e.secret.StringData) }

// Set sets an entry of data; nil sets an empty one. The value is not encoded.
func (e *SecretDataEditor) Set(key string, value []byte) {
	delete(e.secret.StringData, key)
	put(&e.secret.Data, key, copyBytes(value))
}

// Remove removes an entry of data.
func (e *SecretDataEditor) Remove(key string) { delete(e.secret.Data, key) }

// SetString sets an entry of stringData.
func (e *SecretDataEditor) SetString(key, value string) {
	delete(e.secret.Data, key)
	put(&e.secret.StringData, key, value)
}

// RemoveString removes an entry of stringData.
func (e *SecretDataEditor) RemoveString(key string) { delete(e.secret.StringData, key) }

// mergeYAML merges a document into another one. Both may be empty.
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

// parseYAML returns the document of a text without decoding it; nil if it has no content.
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
	// This fails for duplicate keys.
	var content any
	if err := document.Decode(&content); err != nil || content == nil {
		return nil, err
	}
	return &document, checkPlain(&document)
}

// checkPlain returns an error for the first anchor, alias or merge key, because its target could also be changed
// elsewhere.
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

// mergeMaps changes the lower map, and reports whether anything changed. A changed map loses its braces, because they
// leave no place for comments.
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

// isSame reports whether all readers see the same value: some read yes as true, but none reads "yes" as true.
func isSame(a, b *yamlv3.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value && (a.Style&quoted == 0) == (b.Style&quoted == 0) && slices.EqualFunc(a.Content, b.Content, isSame)
}

// encodeYAML returns the text of a document in the layout that Kubernetes uses.
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

// asJSON returns a document as JSON, on one line or several like the entry.
func asJSON(text, entry string) (string, error) {
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil || !strings.Contains(strings.TrimSpace(entry), "\n") {
		return string(content), err
	}
	var indented bytes.Buffer
	err = json.Indent(&indented, content, "", "  ")
	return indented.String(), err
}
