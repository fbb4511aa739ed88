// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package configmap

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// SetEntry records that an entry of data is set to the value.
func (m *Mutator) SetEntry(key, value string) {
	m.EditData(handlers.Infallible(func(e *editors.ConfigMapDataEditor) { e.Set(key, value) }))
}

// RemoveEntry records that an entry of data is removed.
func (m *Mutator) RemoveEntry(key string) {
	m.EditData(handlers.Infallible(func(e *editors.ConfigMapDataEditor) { e.Remove(key) }))
}

// MergeYAML records that a YAML document is merged into the one in an entry of data. See ConfigMapDataEditor.MergeYAML
// for the rules and the errors.
func (m *Mutator) MergeYAML(key, patch string) {
	m.EditData(func(e *editors.ConfigMapDataEditor) error { return e.MergeYAML(key, patch) })
}

// DataHash returns the SHA-256 of the entries of a ConfigMap, in hexadecimal. In an annotation of a pod template, it
// replaces the pods when an entry changes. It fails if a key is in both data and binaryData, which the API server does
// not allow.
func DataHash(configmap *corev1.ConfigMap) (string, error) {
	if configmap == nil {
		return "", errors.New("hashing a ConfigMap: it must not be nil")
	}
	all := map[string][]byte{}
	for key, value := range configmap.Data {
		all[key] = []byte(value)
	}
	for key, value := range configmap.BinaryData {
		if _, ok := all[key]; ok {
			return "", fmt.Errorf("hashing ConfigMap %s/%s: key %q is in both data and binaryData; must be in only one of them", configmap.Namespace, configmap.Name, key)
		}
		all[key] = value
	}
	return handlers.Hash(all)
}

// DesiredHash returns the DataHash of the desired ConfigMap, with all mutations whose features are on. It fails if the
// resource is nil or read-only, because the content of an object of another owner is unknown. In that case, extract the
// data or their DataHash (WithData), and use them in the pod template.
func DesiredHash(resource *Resource) (string, error) {
	return handlers.DesiredHash(resource, "ConfigMap", DataHash)
}
