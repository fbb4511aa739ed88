// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// EnsureVolumeClaimTemplate records that the volume claim template is added, or replaces the one with the same name.
// The API server refuses to change the templates of an existing StatefulSet.
func (m *Mutator) EnsureVolumeClaimTemplate(template corev1.PersistentVolumeClaim) {
	template = *template.DeepCopy()
	m.claims.Record(handlers.Infallible(func(list *[]corev1.PersistentVolumeClaim) {
		if i := slices.IndexFunc(*list, isNamed(template.Name)); i >= 0 {
			(*list)[i] = template
		} else {
			*list = append(*list, template)
		}
	}))
}

// RemoveVolumeClaimTemplate records that the volume claim template with the given name is removed.
func (m *Mutator) RemoveVolumeClaimTemplate(name string) {
	m.claims.Record(handlers.Infallible(func(list *[]corev1.PersistentVolumeClaim) { *list = slices.DeleteFunc(*list, isNamed(name)) }))
}

func isNamed(name string) func(corev1.PersistentVolumeClaim) bool {
	return func(template corev1.PersistentVolumeClaim) bool { return template.Name == name }
}
