// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package configmap

import (
	"github.com/component-operator/runtime/pkg/resources/editors"
)

// SetEntry records that an entry of data has this value.
func (m *Mutator) SetEntry(key, value string) {
	m.EditData(func(e *editors.ConfigMapDataEditor) error {
		e.Set(key, value)
		return nil
	})
}

// RemoveEntry records that there is no such entry of data.
func (m *Mutator) RemoveEntry(key string) {
	m.EditData(func(e *editors.ConfigMapDataEditor) error {
		e.Remove(key)
		return nil
	})
}

// MergeYAML records that a YAML document is laid over the one in an entry of data. See the editor's method of that name
// for the rules, and for what is an error.
func (m *Mutator) MergeYAML(key, patch string) {
	m.EditData(func(e *editors.ConfigMapDataEditor) error { return e.MergeYAML(key, patch) })
}
