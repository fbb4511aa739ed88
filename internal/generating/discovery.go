// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package generating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/cluster"
)

// DiscoveryFromContext returns what the function Discovery of the context returns, or the discovery information of the
// cluster of the Client. Three requests read that; it is cached for some minutes, or until InvalidateDiscovery is
// called. It is recorded in ClusterReads.Discovery, and not in ClusterReads.Any.
func DiscoveryFromContext(ctx context.Context) (*cluster.Discovery, error) {
	found, err := findDiscovery(ctx)
	if err != nil {
		return nil, err
	}
	markDiscovery(ctx, found.Digest)
	return found, nil
}

func findDiscovery(ctx context.Context) (*cluster.Discovery, error) {
	if find, err := Discovery.From(ctx); err == nil {
		return find(ctx)
	}
	clnt, err := Client.From(ctx)
	if err != nil {
		return nil, err
	}
	return discoveries.get(ctx, clnt.DiscoveryClient())
}

// InvalidateDiscovery forgets what is remembered about all clusters. It is to be called when types were added to or removed
// from one of them, or when they begin to be watched.
func InvalidateDiscovery() { discoveries.invalidate() }

const (
	// discoveryLifetime bounds how long a chart may not notice that a type was added to the cluster.
	discoveryLifetime = 5 * time.Minute
	// brokenDiscoveryLifetime applies while a part of the API is broken, which is expected to be repaired.
	brokenDiscoveryLifetime = time.Minute
	// discoveryRetention is the time after which a connection that is no longer used is forgotten.
	discoveryRetention = 15 * time.Minute
)

var discoveries = newDiscoveryCache(time.Now)

func readDiscovery(ctx context.Context, clnt discovery.DiscoveryInterface) (*cluster.Discovery, error) {
	if clnt == nil {
		return nil, errors.New("the client of the target cluster offers no discovery")
	}
	contextual := discovery.ToDiscoveryInterfaceWithContext(clnt)
	info, err := contextual.ServerVersionWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the version of the API server: %w", err)
	}
	groups, resources, err := discovery.ServerGroupsAndResourcesWithContext(ctx, contextual)
	broken, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return nil, fmt.Errorf("reading the resources of the API server: %w", err)
	}

	result := &cluster.Discovery{Version: *info, Resources: sortedResources(resources)}
	for _, group := range groups {
		for _, version := range group.Versions {
			result.GroupVersions = append(result.GroupVersions, version.GroupVersion)
		}
	}
	for groupVersion := range broken {
		result.Failed = append(result.Failed, groupVersion.String())
	}
	slices.Sort(result.Failed)
	// Aggregated discovery hides broken API versions. They must not vanish, or else charts that check for them
	// would stop rendering their objects as long as the API is broken, and these would be deleted.
	result.GroupVersions = append(result.GroupVersions, result.Failed...)
	slices.Sort(result.GroupVersions)
	result.GroupVersions = slices.Compact(result.GroupVersions)
	// The error texts of broken groups are left out, because they change from one attempt to the next.
	if result.Digest, err = manifest.Digest(result); err != nil {
		return nil, err
	}
	return result, nil
}

// sortedResources returns sorted copies, since fakes and caching discovery clients return what they keep.
func sortedResources(lists []*metav1.APIResourceList) []*metav1.APIResourceList {
	sorted := make([]*metav1.APIResourceList, 0, len(lists))
	for _, list := range lists {
		if list == nil {
			continue
		}
		list = list.DeepCopy()
		slices.SortStableFunc(list.APIResources, func(a, b metav1.APIResource) int { return cmp.Compare(a.Name, b.Name) })
		sorted = append(sorted, list)
	}
	slices.SortStableFunc(sorted, func(a, b *metav1.APIResourceList) int { return cmp.Compare(a.GroupVersion, b.GroupVersion) })
	return sorted
}
