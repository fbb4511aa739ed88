// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// deleteNamespace does what kubectl delete namespace does, without waiting.
func (p *place) deleteNamespace() {
	p.Helper()
	if err := p.client.Delete(p.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}); err != nil {
		p.Fatal(err)
	}
}

func (p *place) awaitEndOfNamespace() {
	p.Helper()
	testenv.Eventually(p, func() (bool, string) {
		namespace := &corev1.Namespace{}
		err := p.client.Get(context.WithoutCancel(p.Context()), client.ObjectKey{Name: p.namespace}, namespace)
		return apierrors.IsNotFound(err), fmt.Sprintf("the namespace does not go: %v", namespace.Status.Conditions)
	})
}

// TestNamespaceGoesWithItsReleases has releases that have had something outside, but have nothing there now.
func TestNamespaceGoesWithItsReleases(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")))
	p.must("apply", "role", p.file("role.yaml", configMap("b", "1")+clusterRole))
	p.must("apply", "role", p.file("role.yaml", configMap("b", "2")))
	p.deleteNamespace()
	p.awaitEndOfNamespace()
}

const clusterRole = "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: PLACE-role}}\n"

// TestNamespaceWaitsForWhatIsOutside deletes the namespace of a release that has a ClusterRole.
func TestNamespaceWaitsForWhatIsOutside(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", configMap("a", "1")+clusterRole))
	p.deleteNamespace()
	p.awaitMark()
	testenv.Eventually(t, func() (bool, string) {
		err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "a"}, &corev1.ConfigMap{})
		return apierrors.IsNotFound(err), "the namespace still has its ConfigMap"
	})
	p.expect(p.clm("ls"), 0, "its namespace is being deleted; to let it go: clm delete web -n ")
	p.expect(p.clm("status", "web"), exitNotReady, "its namespace is being deleted; to let it go: clm delete web -n PLACE")
	p.expect(p.clm("doctor"), exitChanges, "its namespace is being deleted, and is waiting for the record of the release", "would be left behind: ClusterRole PLACE-role",
		"clm delete web -n PLACE")
	if got := p.clm("ls", "-o", "json"); !strings.Contains(got.stdout, `"awaited": true`) {
		t.Errorf("want programs to be told, got %s", got.stdout)
	}
	p.must("delete", "web")
	p.awaitEndOfNamespace()
	err := p.client.Get(t.Context(), client.ObjectKey{Name: p.namespace + "-role"}, &rbacv1.ClusterRole{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("want the ClusterRole to be deleted, got %v", err)
	}
}

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
