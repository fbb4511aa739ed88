// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/internal/documents"
)

// ConfigMapDataEditor edits the entries of a ConfigMap. An entry is identified by its key. Since the API server allows a key only once, setting it in
// one of the fields data and binaryData removes it from the other one.
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

// MergeYAML lays a YAML document over the one in an entry of data. Maps are merged, at all depths. All other values are replaced, including lists; null
// is a value as well. The entry becomes the YAML of the result, with sorted keys and without comments. If there is no entry, or an empty one, it becomes
// the YAML of the patch. A patch without content changes nothing.
//
// The error says whether the entry or the patch is invalid. Allowed is one YAML document, in which no key occurs twice in a map.
func (e *ConfigMapDataEditor) MergeYAML(key, patch string) error {
	under, err := documents.DecodeUnique([]byte(e.configMap.Data[key]))
	if err != nil {
		return fmt.Errorf("merging YAML into the entry %q: the entry is not one valid YAML document: %w", key, err)
	}
	over, err := documents.DecodeUnique([]byte(patch))
	if err != nil {
		return fmt.Errorf("merging YAML into the entry %q: the patch is not one valid YAML document: %w", key, err)
	}
	if over == nil {
		return nil
	}
	merged, err := yaml.Marshal(merge(under, over))
	if err != nil {
		return fmt.Errorf("merging YAML into the entry %q: writing the result: %w", key, err)
	}
	e.Set(key, string(merged))
	return nil
}

// merge lays a value over another one. It changes neither, but the result shares values with both.
func merge(under, over any) any {
	below, isMap := under.(map[string]any)
	above, overIsMap := over.(map[string]any)
	if !isMap || !overIsMap {
		return over
	}
	merged := maps.Clone(below)
	for key, value := range above {
		merged[key] = merge(below[key], value)
	}
	return merged
}

// copyBytes returns a copy that is not nil: JSON has null for a nil slice.
func copyBytes(value []byte) []byte { return append([]byte{}, value...) }
