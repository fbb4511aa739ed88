// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"maps"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/component-operator/runtime/pkg/cluster"
)

// spareClusters is the number of unused connections whose clusters are remembered.
const spareClusters = 100

// Identify implements Connector. Without permission to read the namespace, the cluster remains unknown.
func (t *Targets) Identify(ctx context.Context, id Identity) (Cluster, error) {
	connection, err := t.options.Factory.Get(id.key())
	if err != nil {
		return Cluster{}, NotConnectedError{err}
	}
	t.mu.Lock()
	found, known := t.clusters[connection.ID]
	t.mu.Unlock()
	if known {
		return found, nil
	}
	uid, err := cluster.UIDOf(ctx, connection)
	if err != nil {
		t.dropUnknown(connection.ID)
		return Cluster{}, err
	}
	if uid == LocalCluster || len(validation.IsValidLabelValue(string(uid))) > 0 {
		// It would be believed that the dependents are in the cluster of the component, where their deletion is not
		// their server's business.
		t.dropUnknown(connection.ID)
		return Cluster{}, fmt.Errorf("the cluster at %s: the UID of namespace %s is not valid; must be a UUID", HostOf(connection.Config().Host), metav1.NamespaceSystem)
	}
	if uid != "" {
		found = Cluster{UID: string(uid), Host: HostOf(connection.Config().Host)}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.clusters) >= len(t.kept)+spareClusters {
		maps.DeleteFunc(t.clusters, func(id string, _ Cluster) bool {
			if t.kept[id] != nil || id == connection.ID {
				return false
			}
			t.options.Factory.Drop(id)
			return true
		})
	}
	t.clusters[connection.ID] = found
	return found, nil
}

// dropUnknown drops a connection that cannot be used, unless another owner has found out meanwhile that it can.
func (t *Targets) dropUnknown(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.clusters[id]; !known && t.kept[id] == nil && id != t.options.Factory.Local().ID {
		t.options.Factory.Drop(id)
	}
}

// HostOf returns the address of a server without parts that could be secret.
func HostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

// Held implements Connector.
func (t *Targets) Held(owner apitypes.NamespacedName) (*Target, Cluster) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.kept[t.usedBy[owner]]
	if found == nil {
		return nil, Cluster{}
	}
	current := found.Target
	return &current, t.clusters[current.ID]
}
