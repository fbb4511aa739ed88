// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"fmt"
	"maps"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
)

// spareClusters is how many clusters of connections are remembered that nobody uses.
const spareClusters = 100

// identify reads the UID of the namespace kube-system. Where that is forbidden, the cluster remains unknown.
func (t *targets) identify(ctx context.Context, id identity) (clusterIdentity, error) {
	connection, err := t.factory.Get(clients.Key{KubeConfig: id.kubeConfig, User: id.user, Groups: id.groups})
	if err != nil {
		return clusterIdentity{}, notConnectedError{err}
	}
	t.mu.Lock()
	found, known := t.clusters[connection.ID]
	t.mu.Unlock()
	if known {
		return found, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err = connection.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace)
	switch {
	case err == nil:
		found = clusterIdentity{uid: string(namespace.UID), host: hostOf(connection.Config().Host)}
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return clusterIdentity{}, fmt.Errorf("reading the namespace %s: %w", metav1.NamespaceSystem, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.clusters) >= len(t.kept)+spareClusters {
		maps.DeleteFunc(t.clusters, func(id string, _ clusterIdentity) bool { return t.kept[id] == nil })
	}
	t.clusters[connection.ID] = found
	return found, nil
}

// hostOf returns the address of a server without anything that could be secret.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

func (t *targets) held(owner apitypes.NamespacedName) (*target, clusterIdentity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.kept[t.usedBy[owner]]
	if found == nil {
		return nil, clusterIdentity{}
	}
	current := found.target
	return &current, t.clusters[current.id]
}
