// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package pv

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
)

// SetStorageClassName records the storage class to which the volume belongs, as an edit of the spec.
func (m *Mutator) SetStorageClassName(name string) {
	m.EditPVSpec(func(e *editors.PVSpecEditor) error {
		e.SetStorageClassName(name)
		return nil
	})
}

// SetReclaimPolicy records what happens to the volume when its claim is deleted, as an edit of the spec.
func (m *Mutator) SetReclaimPolicy(policy corev1.PersistentVolumeReclaimPolicy) {
	m.EditPVSpec(func(e *editors.PVSpecEditor) error {
		e.SetPersistentVolumeReclaimPolicy(policy)
		return nil
	})
}

// SetMountOptions records the mount options of the volume, which replace those that it has, as an edit of the spec.
func (m *Mutator) SetMountOptions(options []string) {
	options = slices.Clone(options)
	m.EditPVSpec(func(e *editors.PVSpecEditor) error {
		e.SetMountOptions(options)
		return nil
	})
}
