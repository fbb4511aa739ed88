// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestDeleteWithItsNamespace has a release one of whose objects is the namespace that its record is in.
func TestDeleteWithItsNamespace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: PLACE}\n"+configMap("a", "1")))
	p.expect(p.clm("delete", "web", "--timeout", "20s"), 0, "is deleted, and namespace PLACE goes as soon as nothing is left in it")
	testenv.Eventually(t, func() (bool, string) {
		namespace := &corev1.Namespace{}
		err := p.client.Get(context.WithoutCancel(t.Context()), client.ObjectKey{Name: p.namespace}, namespace)
		return apierrors.IsNotFound(err), fmt.Sprintf("the namespace does not go: %v", namespace.Status.Conditions)
	})
}
