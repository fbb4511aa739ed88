// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
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
func (e *ConfigMapDataEditor) Raw() map[string]string {
	if e.configMap.Data == nil {
		e.configMap.Data = map[string]string{}
	}
	return e.configMap.Data
}

// RawBinary returns the field binaryData, which it creates if it is nil.
func (e *ConfigMapDataEditor) RawBinary() map[string][]byte {
	if e.configMap.BinaryData == nil {
		e.configMap.BinaryData = map[string][]byte{}
	}
	return e.configMap.BinaryData
}

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

// MergeYAML lays a YAML document, the patch, over the one in an entry of data. Maps are merged, at all depths, by the
// texts of their keys. All other values are replaced, including lists; null is a value as well. If the entry or the
// patch is no map, the patch replaces the entry. A patch without content changes nothing. An entry that is missing, or
// without content, becomes the text of the patch.
//
// Keys and values are written as they are in the entry or in the patch, such as off, 1.10, 012 and numbers with many
// digits. An entry that has already the values of the patch stays as it is, byte for byte. Otherwise it is written
// again: keys keep their order, and new ones come last; comments stay; blank lines and the markers of documents get
// lost, maps that change lose their braces, and indentation may change. JSON stays JSON, with sorted keys; its values
// are then those of YAML 1.1, in which off is false.
//
// The error says whether the entry or the patch is invalid. Allowed is one YAML document without anchors, aliases and
// merge keys (<<), in which no key occurs twice in a map, and keys are neither maps nor lists.
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

// copyBytes returns a copy that is not nil: JSON has null for a nil slice.
func copyBytes(value []byte) []byte { return append([]byte{}, value...) }
