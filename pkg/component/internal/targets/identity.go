// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"strings"

	"github.com/component-operator/runtime/internal/clients"
)

// Identity is the cluster, and the user, that dependents are deployed with.
type Identity struct {
	// KubeConfig has its own user; empty for the cluster of the component.
	KubeConfig []byte
	User       string
	Groups     []string
}

func (id Identity) key() clients.Key {
	return clients.Key{KubeConfig: id.KubeConfig, User: id.User, Groups: id.Groups}
}

// Cluster identifies a cluster; the zero value is an unknown one.
type Cluster struct {
	// UID is that of the namespace kube-system, or LocalCluster.
	UID string
	// Host is the address of the API server, for messages; empty for the cluster of the component.
	Host string
}

// LocalCluster stands for the cluster of the component.
const LocalCluster = "local"

// ParseCluster is the inverse of Cluster.String.
func ParseCluster(text string) Cluster {
	uid, host, _ := strings.Cut(text, "@")
	return Cluster{UID: uid, Host: host}
}

// String returns the form in the status.
func (c Cluster) String() string {
	if c.Host == "" {
		return c.UID
	}
	return c.UID + "@" + c.Host
}

// Describe formats the cluster for messages.
func (c Cluster) Describe() string {
	switch {
	case c.UID == LocalCluster:
		return "the cluster of the component"
	case c.Host == "":
		return "the cluster whose namespace kube-system has the UID " + c.UID
	default:
		return fmt.Sprintf("the cluster at %s, whose namespace kube-system has the UID %s", c.Host, c.UID)
	}
}

// IsOther reports whether two clusters are certainly different. A kubeconfig may refer to the cluster of the component,
// whose UID is own.
func (c Cluster) IsOther(other Cluster, own string) bool {
	uid := func(c Cluster) string {
		if c.UID == LocalCluster {
			return own
		}
		return c.UID
	}
	return c.UID != "" && other.UID != "" && uid(c) != uid(other)
}

// NotConnectedError says that no connection can be made with an identity.
type NotConnectedError struct{ error }
