// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package editors

import (
	corev1 "k8s.io/api/core/v1"
)

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
func (e *SecretDataEditor) Raw() map[string][]byte {
	if e.secret.Data == nil {
		e.secret.Data = map[string][]byte{}
	}
	return e.secret.Data
}

// RawStringData returns the field stringData, which it creates if it is nil.
func (e *SecretDataEditor) RawStringData() map[string]string {
	if e.secret.StringData == nil {
		e.secret.StringData = map[string]string{}
	}
	return e.secret.StringData
}

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
