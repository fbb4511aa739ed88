// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client accesses one cluster as one identity. It is safe for concurrent use.
type Client interface {
	client.Client
	// DiscoveryClient returns a discovery client of the same connection.
	DiscoveryClient() discovery.DiscoveryInterface
	// EventRecorder returns a recorder that writes events into the cluster.
	EventRecorder() record.EventRecorder
	// Config returns the configuration of the connection; callers must not change it.
	Config() *rest.Config
	// HttpClient returns the transport of the connection.
	HttpClient() *http.Client
}

// NewClient bundles the given parts, which must belong to the same connection.
func NewClient(clnt client.Client, discoveryClient discovery.DiscoveryInterface, eventRecorder record.EventRecorder, config *rest.Config, httpClient *http.Client) Client {
	return &bundle{Client: clnt, discoveryClient: discoveryClient, eventRecorder: eventRecorder, config: config, httpClient: httpClient}
}

type bundle struct {
	client.Client
	discoveryClient discovery.DiscoveryInterface
	eventRecorder   record.EventRecorder
	config          *rest.Config
	httpClient      *http.Client
}

func (b *bundle) DiscoveryClient() discovery.DiscoveryInterface { return b.discoveryClient }
func (b *bundle) EventRecorder() record.EventRecorder           { return b.eventRecorder }
func (b *bundle) Config() *rest.Config                          { return b.config }
func (b *bundle) HttpClient() *http.Client                      { return b.httpClient }

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

// Group is what the API server reports about one API group.
type Group struct {
	// Name of the group; empty for the core group.
	Name string
	// Versions are the served versions, the preferred one first. Empty if the group is not served.
	Versions []string
	// Resources are those of each version that could be read.
	Resources map[string][]metav1.APIResource
	// Failed has the error of each version that could not be read, such as one of an aggregated API whose server is
	// down.
	Failed map[string]error
}

// ReadGroup asks the API server which types of a group it serves now. It makes one request, and one for each version;
// the result is more recent than aggregated discovery, which lags by seconds. After an error, nothing is known about
// the group.
func ReadGroup(ctx context.Context, clnt discovery.DiscoveryInterface, name string) (*Group, error) {
	contextual := discovery.ToDiscoveryInterfaceWithContext(clnt)
	group := &Group{Name: name, Resources: map[string][]metav1.APIResource{}, Failed: map[string]error{}}
	versions := []string{"v1"}
	if name != "" {
		var err error
		if versions, err = versionsOf(ctx, contextual, name); err != nil {
			return nil, err
		}
	}
	for _, version := range versions {
		list, err := contextual.ServerResourcesForGroupVersionWithContext(ctx, schema.GroupVersion{Group: name, Version: version}.String())
		switch {
		case apierrors.IsNotFound(err):
			if served, answerErr := isAggregated(ctx, contextual, name, version); answerErr == nil && !served {
				continue // it has gone since the group was read
			}
			// The server behind an aggregated API, or a proxy in front of it, has sent this NotFound. It does not prove
			// that the objects are gone.
			group.Failed[version] = err
		case err != nil:
			group.Failed[version] = err
		default:
			group.Resources[version] = list.APIResources
		}
		group.Versions = append(group.Versions, version)
	}
	return group, nil
}

// isAggregated reports whether another server than the API server itself serves a version. The group still lists
// the version of a deleted CustomResourceDefinition for a while, so its APIService decides.
func isAggregated(ctx context.Context, clnt discovery.DiscoveryInterfaceWithContext, group, version string) (bool, error) {
	raw, err := clnt.RESTClient().Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices", version+"."+group).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the APIService of %s: %w", schema.GroupVersion{Group: group, Version: version}, err)
	}
	var service struct {
		Spec struct {
			Service *struct{} `json:"service"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &service); err != nil {
		return false, fmt.Errorf("decoding the APIService of %s: %w", schema.GroupVersion{Group: group, Version: version}, err)
	}
	return service.Spec.Service != nil, nil
}

func versionsOf(ctx context.Context, clnt discovery.DiscoveryInterfaceWithContext, name string) ([]string, error) {
	answer := &metav1.APIGroup{}
	err := clnt.RESTClient().Get().AbsPath("/apis", name).Do(ctx).Into(answer)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the versions of API group %s: %w", name, err)
	}
	versions := make([]string, 0, len(answer.Versions))
	for _, version := range answer.Versions {
		if version.Version == answer.PreferredVersion.Version {
			versions = slices.Insert(versions, 0, version.Version)
		} else {
			versions = append(versions, version.Version)
		}
	}
	return versions, nil
}

// Failure returns an error that names the versions that could not be read, in a stable text; nil if there are none.
func (g *Group) Failure() error {
	if len(g.Failed) == 0 {
		return nil
	}
	version := slices.Min(slices.Collect(maps.Keys(g.Failed)))
	return fmt.Errorf("reading the types of %s: %w", schema.GroupVersion{Group: g.Name, Version: version}, g.Failed[version])
}

// Mappings returns one mapping for each version that serves a kind, that of the preferred version first.
func (g *Group) Mappings(kind string) []*meta.RESTMapping {
	var mappings []*meta.RESTMapping
	for _, name := range g.Versions {
		version := schema.GroupVersion{Group: g.Name, Version: name}
		for _, resource := range g.Resources[name] {
			if resource.Kind != kind || strings.Contains(resource.Name, "/") {
				continue
			}
			scope := meta.RESTScopeRoot
			if resource.Namespaced {
				scope = meta.RESTScopeNamespace
			}
			mappings = append(mappings, &meta.RESTMapping{GroupVersionKind: version.WithKind(kind), Resource: version.WithResource(resource.Name), Scope: scope})
			break
		}
	}
	return mappings
}

// mapper returns a mapper for the types of the group.
func (g *Group) mapper() meta.RESTMapper {
	resources := &restmapper.APIGroupResources{Group: metav1.APIGroup{Name: g.Name}, VersionedResources: g.Resources}
	for _, version := range g.Versions {
		resources.Group.Versions = append(resources.Group.Versions, metav1.GroupVersionForDiscovery{
			GroupVersion: schema.GroupVersion{Group: g.Name, Version: version}.String(), Version: version,
		})
	}
	return restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{resources})
}
