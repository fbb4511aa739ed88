// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// SetData records that an entry of data is set to the value, which is not base64-encoded.
func (m *Mutator) SetData(key string, value []byte) {
	value = slices.Clone(value)
	m.EditData(handlers.Infallible(func(e *editors.SecretDataEditor) { e.Set(key, value) }))
}

// RemoveData records that an entry of data is removed.
func (m *Mutator) RemoveData(key string) {
	m.EditData(handlers.Infallible(func(e *editors.SecretDataEditor) { e.Remove(key) }))
}

// SetStringData records that an entry of stringData is set to the value.
func (m *Mutator) SetStringData(key, value string) {
	m.EditData(handlers.Infallible(func(e *editors.SecretDataEditor) { e.SetString(key, value) }))
}

// RemoveStringData records that an entry of stringData is removed.
func (m *Mutator) RemoveStringData(key string) {
	m.EditData(handlers.Infallible(func(e *editors.SecretDataEditor) { e.RemoveString(key) }))
}

// DataHash returns the SHA-256 of the entries of a Secret, in hexadecimal. In an annotation of a pod template, it
// replaces the pods when an entry changes. Entries of stringData count as entries of data, into which the API server
// moves them.
func DataHash(secret *corev1.Secret) (string, error) {
	if secret == nil {
		return "", errors.New("hashing a Secret: it must not be nil")
	}
	all := map[string][]byte{}
	maps.Copy(all, secret.Data)
	for key, value := range secret.StringData {
		all[key] = []byte(value)
	}
	return handlers.Hash(all)
}

// DesiredHash returns the DataHash of the desired Secret, with all mutations whose features are on. It fails if the
// resource is nil or read-only, because the content of an object of another owner is unknown. In that case, extract the
// data or their DataHash (WithData), and use them in the pod template.
func DesiredHash(resource *Resource) (string, error) {
	return handlers.DesiredHash(resource, "Secret", DataHash)
}
