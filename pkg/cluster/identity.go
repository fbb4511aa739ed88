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

// UIDOf returns what tells a cluster from all others, under whatever address it is reached: the UID of its namespace kube-system. The UID is empty if
// the client is not allowed to read that namespace, or if there is none.
func UIDOf(ctx context.Context, reader client.Reader) (apitypes.UID, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace)
	if err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return namespace.UID, nil
	}
	return "", fmt.Errorf("reading the namespace %s: %w", metav1.NamespaceSystem, err)
}
