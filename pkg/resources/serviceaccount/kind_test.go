// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample"}}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	resourcestest.CheckApplied(t, NewBuilder(sample()))
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(
		t, m, resourcestest.Metadata(m), resourcestest.Recorded("image pull secrets", m.pullSecrets.Record), resourcestest.Recorded("automount of the token", m.automount.Record),
	)

	pulling := func(names ...string) *corev1.ServiceAccount {
		account := &corev1.ServiceAccount{}
		for _, name := range names {
			account.ImagePullSecrets = append(account.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
		}
		return account
	}
	mounting := func(automount *bool) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{AutomountServiceAccountToken: automount}
	}
	resourcestest.CheckEdits(t, NewMutator, []resourcestest.Edit[*corev1.ServiceAccount, *Mutator]{
		{Why: "EnsureImagePullSecret adds a name", Start: pulling("a"), Record: func(m *Mutator) { m.EnsureImagePullSecret("b") }, Want: pulling("a", "b")},
		{Why: "EnsureImagePullSecret leaves a name where it is", Start: pulling("a", "b"), Record: func(m *Mutator) { m.EnsureImagePullSecret("a") }, Want: pulling("a", "b")},
		{Why: "RemoveImagePullSecret removes a name", Start: pulling("a", "b"), Record: func(m *Mutator) { m.RemoveImagePullSecret("a") }, Want: pulling("b")},
		{Why: "RemoveImagePullSecret does nothing if the name is not there", Start: pulling("a"), Record: func(m *Mutator) { m.RemoveImagePullSecret("b") }, Want: pulling("a")},
		{
			Why: "SetAutomountServiceAccountToken sets the field", Start: mounting(nil),
			Record: func(m *Mutator) { m.SetAutomountServiceAccountToken(new(false)) }, Want: mounting(new(false)),
		},
		{
			Why: "SetAutomountServiceAccountToken replaces the field", Start: mounting(new(false)),
			Record: func(m *Mutator) { m.SetAutomountServiceAccountToken(new(true)) }, Want: mounting(new(true)),
		},
		{
			Why: "SetAutomountServiceAccountToken removes the field", Start: mounting(new(false)),
			Record: func(m *Mutator) { m.SetAutomountServiceAccountToken(nil) }, Want: mounting(nil),
		},
		{
			Why: "SetAutomountServiceAccountToken copies at once", Start: mounting(nil),
			Record: func(m *Mutator) {
				automount := false
				m.SetAutomountServiceAccountToken(&automount)
				automount = true
			}, Want: mounting(new(false)),
		},
	})
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "v1/ServiceAccount/default/sample")
}
