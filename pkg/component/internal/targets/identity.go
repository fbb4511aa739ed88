// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"strings"

	"github.com/component-operator/runtime/internal/clients"
)

// Identity is the cluster into which, and the user as which, dependents are deployed.
type Identity struct {
	// KubeConfig brings its own user; empty for the cluster of the component.
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
	// Host is the address of the API server, for people; empty for the cluster of the component.
	Host string
}

// LocalCluster stands for the cluster of the component.
const LocalCluster = "local"

// ParseCluster is the inverse of Cluster.String.
func ParseCluster(text string) Cluster {
	uid, host, _ := strings.Cut(text, "@")
	return Cluster{UID: uid, Host: host}
}

// String returns the form in which the status has it.
func (c Cluster) String() string {
	if c.Host == "" {
		return c.UID
	}
	return c.UID + "@" + c.Host
}

// Describe names the cluster in messages.
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

// IsOther reports whether two clusters are known to be different ones. A kubeconfig may lead to the cluster of the component,
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

// NotConnectedError is about an identity by which no connection can be made.
type NotConnectedError struct{ error }
