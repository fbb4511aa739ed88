// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
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

// TestDeleteAfterItsNamespace has the record be marked for deletion, with all that is in the namespace, before it is written for the last time.
func TestDeleteAfterItsNamespace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: PLACE}\n"+configMap("a", "1")))
	var goes atomic.Bool
	x := newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if goes.Load() && request.Method == http.MethodPatch && request.Name == "clm.web" {
				p.awaitMark()
			}
			return true
		}
		x.after = func(request testenv.Request) bool {
			if request.Method == http.MethodDelete && request.Resource == "namespaces" {
				goes.Store(true)
			}
			return true
		}
	})
	p.expect(p.through(x).clm("delete", "web", "--timeout", "20s"), 0, "is deleted, and namespace PLACE goes as soon as nothing is left in it")
}

// awaitMark waits until the record is being deleted.
func (p *place) awaitMark() {
	testenv.Eventually(p, func() (bool, string) {
		record := &corev1.Secret{}
		err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: "clm.web"}, record)
		return err == nil && record.DeletionTimestamp != nil || apierrors.IsNotFound(err), fmt.Sprintf("the record is not being deleted: %v", err)
	})
}
