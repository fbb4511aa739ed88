// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/component-operator/runtime/pkg/resources/internal/handlers"
)

// EnsureImagePullSecret records that pods of the ServiceAccount pull images with this Secret.
func (m *Mutator) EnsureImagePullSecret(name string) {
	m.pullSecrets.Record(handlers.Infallible(func(list *[]corev1.LocalObjectReference) {
		if secret := (corev1.LocalObjectReference{Name: name}); !slices.Contains(*list, secret) {
			*list = append(*list, secret)
		}
	}))
}

// RemoveImagePullSecret records that pods of the ServiceAccount do not pull images with this Secret.
func (m *Mutator) RemoveImagePullSecret(name string) {
	m.pullSecrets.Record(handlers.Infallible(func(list *[]corev1.LocalObjectReference) {
		*list = slices.DeleteFunc(*list, func(secret corev1.LocalObjectReference) bool { return secret.Name == name })
	}))
}

// SetAutomountServiceAccountToken records whether pods of the ServiceAccount get its token, unless their own spec
// decides. Nil removes the field, so that they get it.
func (m *Mutator) SetAutomountServiceAccountToken(automount *bool) {
	if automount != nil {
		automount = new(*automount)
	}
	m.automount.Record(handlers.Infallible(func(field **bool) { *field = automount }))
}
