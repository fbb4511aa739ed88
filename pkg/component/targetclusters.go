// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"maps"
	"net/url"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/cluster"
)

// spareClusters is how many clusters of connections are remembered that nobody uses.
const spareClusters = 100

// identify finds out which cluster it is. Where that is forbidden, the cluster remains unknown.
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
	uid, err := cluster.UIDOf(ctx, connection)
	if err != nil {
		return clusterIdentity{}, err
	}
	if uid != "" {
		found = clusterIdentity{uid: string(uid), host: hostOf(connection.Config().Host)}
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
