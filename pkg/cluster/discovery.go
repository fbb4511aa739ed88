// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// Discovery is what the API server of a cluster reports about itself. It is shared and must not be changed.
type Discovery struct {
	// Version is the version of the API server.
	Version version.Info
	// GroupVersions lists the served API versions, such as "v1" and "apps/v1", sorted. It includes those
	// whose resources could not be listed.
	GroupVersions []string
	// Resources holds the resources of each API version, sorted by group version, then by name.
	// API versions whose resources could not be listed (a broken aggregated API, usually) are missing.
	Resources []*metav1.APIResourceList
	// Failed lists the API versions whose resources could not be listed, sorted.
	Failed []string
	// Digest is the same for two snapshots with the same content.
	Digest string
}
