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

// SetEntry records that an entry of data has this value.
func (m *Mutator) SetEntry(key, value string) {
	m.EditData(handlers.Infallible(func(e *editors.ConfigMapDataEditor) { e.Set(key, value) }))
}

// RemoveEntry records that there is no such entry of data.
func (m *Mutator) RemoveEntry(key string) {
	m.EditData(handlers.Infallible(func(e *editors.ConfigMapDataEditor) { e.Remove(key) }))
}

// MergeYAML records that a YAML document is laid over the one in an entry of data. See the editor's method of that name
// for the rules, and for what is an error.
func (m *Mutator) MergeYAML(key, patch string) {
	m.EditData(func(e *editors.ConfigMapDataEditor) error { return e.MergeYAML(key, patch) })
}

// DataHash returns the SHA-256, in hexadecimal form, of the entries of a ConfigMap. As an annotation of a pod template,
// it has the pods replaced when an entry changes. It fails if a key is in both data and binaryData, which the API
// server does not allow.
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

// DesiredHash returns the DataHash of the ConfigMap as it will be, with all mutations whose features are on. It fails
// if the resource is nil or read-only: the content of an object of another owner is not known. Extract the
// data of that object, or their DataHash (WithData), and use them in the pod template.
func DesiredHash(resource *Resource) (string, error) {
	return handlers.DesiredHash(resource, "ConfigMap", DataHash)
}
