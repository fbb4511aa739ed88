// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/clm/internal/releases"
)

// lacksNamespace reports whether a request has failed because the namespace does not exist.
func lacksNamespace(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// createNamespace creates the namespace of a release if that is wanted. Otherwise it returns a RefusedError.
func createNamespace(ctx context.Context, clnt client.Client, name string, wanted bool) error {
	if !wanted {
		return failures.Refused("namespace %s does not exist; to create it: --create-namespace", name)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := clnt.Create(ctx, namespace, client.FieldOwner(releases.ReconcilerName)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}
