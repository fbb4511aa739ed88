// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
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
	p.expect(p.clm("delete", "web", "--timeout", "20s"), 0, "release PLACE/web was deleted")
	p.expectOwnNamespace()
	if p.configMap("a") != nil {
		t.Error("a dependent is left behind")
	}
}

// expectOwnNamespace checks that the namespace is there, and belongs to no release.
func (p *place) expectOwnNamespace() {
	p.Helper()
	namespace := &corev1.Namespace{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Name: p.namespace}, namespace); err != nil {
		p.Fatal(err)
	}
	if namespace.DeletionTimestamp != nil || namespace.Labels["clm.cs.sap.com/owner-id"] != "" {
		p.Errorf("expected the namespace without a mark, got %v", namespace.ObjectMeta)
	}
}

// awaitMark waits until the record is being deleted.
func (p *place) awaitMark() {
	testenv.Eventually(p, func() (bool, string) {
		record := &corev1.Secret{}
		err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: "clm.web"}, record)
		return err == nil && record.DeletionTimestamp != nil || apierrors.IsNotFound(err), fmt.Sprintf("the record is not being deleted: %v", err)
	})
}
