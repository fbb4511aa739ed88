// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"slices"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

// SetData records that an entry of data has this value, which is not encoded.
func (m *Mutator) SetData(key string, value []byte) {
	value = slices.Clone(value)
	m.EditData(func(e *editors.SecretDataEditor) error {
		e.Set(key, value)
		return nil
	})
}

// RemoveData records that there is no such entry of data.
func (m *Mutator) RemoveData(key string) {
	m.EditData(func(e *editors.SecretDataEditor) error {
		e.Remove(key)
		return nil
	})
}

// SetStringData records that an entry of stringData has this value.
func (m *Mutator) SetStringData(key, value string) {
	m.EditData(func(e *editors.SecretDataEditor) error {
		e.SetString(key, value)
		return nil
	})
}

// RemoveStringData records that there is no such entry of stringData.
func (m *Mutator) RemoveStringData(key string) {
	m.EditData(func(e *editors.SecretDataEditor) error {
		e.RemoveString(key)
		return nil
	})
}
