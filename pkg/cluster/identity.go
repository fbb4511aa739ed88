// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// UIDOf returns the UID of the namespace kube-system, which identifies a cluster whatever its address is. It is empty
// if the client may not read that namespace, or if there is none.
func UIDOf(ctx context.Context, reader client.Reader) (apitypes.UID, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace)
	if err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return namespace.UID, nil
	}
	return "", fmt.Errorf("reading the namespace %s: %w", metav1.NamespaceSystem, err)
}
