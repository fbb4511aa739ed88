// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package pv

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/editors"
	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// SetStorageClassName records the storage class to which the volume belongs, as an edit of the spec.
func (m *Mutator) SetStorageClassName(name string) {
	m.EditPVSpec(handlers.Infallible(func(e *editors.PVSpecEditor) { e.SetStorageClassName(name) }))
}

// SetReclaimPolicy records what happens to the volume when its claim is deleted, as an edit of the spec.
func (m *Mutator) SetReclaimPolicy(policy corev1.PersistentVolumeReclaimPolicy) {
	m.EditPVSpec(handlers.Infallible(func(e *editors.PVSpecEditor) { e.SetPersistentVolumeReclaimPolicy(policy) }))
}

// SetMountOptions records, as an edit of the spec, that the mount options of the volume are replaced.
func (m *Mutator) SetMountOptions(options []string) {
	options = slices.Clone(options)
	m.EditPVSpec(handlers.Infallible(func(e *editors.PVSpecEditor) { e.SetMountOptions(options) }))
}
