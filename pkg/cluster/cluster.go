// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster provides connections to one cluster as one identity: a client, discovery, an event recorder, and
// their configuration.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
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

// Discovery is the information of an API server about itself. It is shared and must not be changed.
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

// UIDOf returns the UID of the namespace kube-system, which identifies a cluster independently of its address. It is
// empty if the client may not read that namespace, or if there is none.
func UIDOf(ctx context.Context, reader client.Reader) (apitypes.UID, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace)
	if err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return namespace.UID, nil
	}
	return "", fmt.Errorf("reading the namespace %s: %w", metav1.NamespaceSystem, err)
}

// Group is the API server's information about one API group.
type Group struct {
	// Name of the group; empty for the core group.
	Name string
	// Versions are the served versions, the preferred one first. Empty if the group is not served.
	Versions []string
	// Resources are the resources of each version that could be read.
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

// isAggregated reports whether a server other than the API server itself serves a version. The group still lists the
// version of a deleted CustomResourceDefinition for a while, so its APIService decides.
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

// renewInterval is how long a result about a group counts as recent. It limits the requests of callers that keep asking
// for a type that does not exist.
const renewInterval = time.Second

// RESTMapper finds types when they are first used, as controller-runtime's mapper does. In addition, RenewTypes and
// LearnTypes replace its types of a group: controller-runtime's mapper keeps scope and resource of a type forever,
// although a recreated CustomResourceDefinition may have others. It is safe for concurrent use.
//
// It reports a type as not served only if the API server confirms it; an API that does not answer is another error.
type RESTMapper struct {
	lazy      meta.RESTMapper
	discovery discovery.DiscoveryInterface
	now       func() time.Time
	// asked is set after the first call of the lazy mapper.
	asked atomic.Bool

	mu     sync.RWMutex
	groups map[string]*renewal
	// generation counts changes of groups.
	generation atomic.Int64
}

// renewal is the last result about a group. The mutex is held during the request.
type renewal struct {
	mu   sync.Mutex
	at   time.Time
	fail error

	// group and mapper are nil until the server has answered completely; guarded by the mutex of the RESTMapper.
	group  *Group
	mapper meta.RESTMapper
}

var _ meta.RESTMapper = &RESTMapper{}

// NewRESTMapper returns a mapper for the cluster of the configuration. It makes no request.
func NewRESTMapper(config *rest.Config, httpClient *http.Client) (*RESTMapper, error) {
	lazy, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("setting up the mapping of types: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("setting up the mapping of types: %w", err)
	}
	return &RESTMapper{lazy: lazy, discovery: discoveryClient, now: time.Now, groups: map[string]*renewal{}}, nil
}

// RenewTypes makes a mapper read the types of a group again, because a request, or the scope of a type, indicates that
// they may be outdated. If the server does not answer completely, the mapper keeps its types, and RenewTypes returns an
// error. It does nothing if the last result is less than a second old, or if the mapper is no RESTMapper of this
// package.
func RenewTypes(ctx context.Context, mapper meta.RESTMapper, group string) error {
	if renewable, ok := mapper.(*RESTMapper); ok {
		return renewable.renew(ctx, group)
	}
	return nil
}

// LearnTypes makes a mapper use a result of ReadGroup, unless versions did not answer, or the mapper is no
// RESTMapper of this package.
func LearnTypes(mapper meta.RESTMapper, group *Group) {
	if renewable, ok := mapper.(*RESTMapper); ok && group.Failure() == nil && group.Name != "" {
		renewable.take(renewable.renewal(group.Name), group)
	}
}

func (m *RESTMapper) renewal(group string) *renewal {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups[group] == nil {
		m.groups[group] = &renewal{}
	}
	return m.groups[group]
}

func (m *RESTMapper) renew(ctx context.Context, name string) error {
	if name == "" {
		// The types of the core group do not change.
		return nil
	}
	known := m.renewal(name)
	known.mu.Lock()
	defer known.mu.Unlock()
	if now := m.now(); known.at.IsZero() || now.Sub(known.at) >= renewInterval {
		group, err := ReadGroup(ctx, m.discovery, name)
		if err == nil {
			err = group.Failure()
		}
		known.at, known.fail = now, err
		if err == nil {
			m.take(known, group)
		}
	}
	return known.fail
}

func (m *RESTMapper) take(known *renewal, group *Group) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known.group != nil && slices.Equal(known.group.Versions, group.Versions) && reflect.DeepEqual(known.group.Resources, group.Resources) {
		return
	}
	known.group, known.mapper = group, group.mapper()
	m.generation.Add(1)
}

// of returns the mapper for a group.
func (m *RESTMapper) of(group string) (mapper meta.RESTMapper, renewed bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if known := m.groups[group]; known != nil && known.mapper != nil {
		return known.mapper, true
	}
	return m.lazy, false
}

// find looks a type up in the group's mapper; if it is missing, it renews the types and tries once more.
func find[T any](m *RESTMapper, group string, look func(meta.RESTMapper) (T, error)) (T, error) {
	mapper, renewed := m.of(group)
	first := !m.asked.Load()
	found, err := look(mapper)
	if !IsNoMatch(err) {
		m.asked.Store(true)
		return found, err
	}
	if !renewed {
		m.asked.Store(true)
		if first {
			// On its first call, the lazy mapper reports an API that does not answer as one that does not exist.
			return look(mapper)
		}
		return found, err
	}
	if fail := m.renew(context.Background(), group); fail != nil {
		return found, fail
	}
	mapper, _ = m.of(group)
	return look(mapper)
}

// KindFor returns the kind of a resource.
func (m *RESTMapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return find(m, resource.Group, func(mapper meta.RESTMapper) (schema.GroupVersionKind, error) { return mapper.KindFor(resource) })
}

// KindsFor returns all kinds that match a resource.
func (m *RESTMapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return find(m, resource.Group, func(mapper meta.RESTMapper) ([]schema.GroupVersionKind, error) { return mapper.KindsFor(resource) })
}

// ResourceFor returns the preferred full resource that matches a partial one.
func (m *RESTMapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return find(m, input.Group, func(mapper meta.RESTMapper) (schema.GroupVersionResource, error) { return mapper.ResourceFor(input) })
}

// ResourcesFor returns all full resources that match a partial one.
func (m *RESTMapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return find(m, input.Group, func(mapper meta.RESTMapper) ([]schema.GroupVersionResource, error) { return mapper.ResourcesFor(input) })
}

// RESTMapping returns the mapping of a kind in the first served one of the versions or, without versions, in the
// preferred one.
func (m *RESTMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return find(m, kind.Group, func(mapper meta.RESTMapper) (*meta.RESTMapping, error) { return mapper.RESTMapping(kind, versions...) })
}

// RESTMappings returns the mappings of a kind in each of the versions or, without versions, in all served ones.
func (m *RESTMapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return find(m, kind.Group, func(mapper meta.RESTMapper) ([]*meta.RESTMapping, error) {
		return mapper.RESTMappings(kind, versions...)
	})
}

// ResourceSingularizer returns the singular of a resource.
func (m *RESTMapper) ResourceSingularizer(resource string) (string, error) {
	return m.lazy.ResourceSingularizer(resource)
}

// NewDirectClient returns a client that sends each request to the API server, as client.New does, and adapts when a
// type is served under a different name or with a different scope. options.Mapper must be a *RESTMapper; if it is nil,
// one is made.
//
// If a request fails because its type is served differently than before, the client reads the types of its group again
// and, if they have changed, repeats the request. The first request had no effect.
func NewDirectClient(config *rest.Config, options client.Options) (client.Client, error) {
	if options.HTTPClient == nil {
		httpClient, err := rest.HTTPClientFor(config)
		if err != nil {
			return nil, fmt.Errorf("setting up the transport: %w", err)
		}
		options.HTTPClient = httpClient
	}
	if options.Mapper == nil {
		mapper, err := NewRESTMapper(config, options.HTTPClient)
		if err != nil {
			return nil, err
		}
		options.Mapper = mapper
	}
	mapper, ok := options.Mapper.(*RESTMapper)
	if !ok {
		return nil, fmt.Errorf("setting up the client: the mapper must be a *cluster.RESTMapper, not %T", options.Mapper)
	}
	generation := mapper.generation.Load()
	made, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("setting up the client: %w", err)
	}
	d := &direct{config: config, options: options, mapper: mapper}
	d.used.Store(&generated{Client: made, generation: generation})
	return d, nil
}

// direct replaces its inner client, which caches types forever, when types have changed.
type direct struct {
	config  *rest.Config
	options client.Options
	mapper  *RESTMapper
	used    atomic.Pointer[generated]
}

// generated is a client with the types of one generation.
type generated struct {
	client.Client

	generation int64
}

func (d *direct) current() client.Client {
	used, generation := d.used.Load(), d.mapper.generation.Load()
	if used.generation == generation {
		return used.Client
	}
	made, err := client.New(d.config, d.options)
	if err != nil {
		// The same arguments have worked before.
		return used.Client
	}
	d.used.Store(&generated{Client: made, generation: generation})
	return made
}

// send makes a request, and repeats it if the type turns out to be served differently.
func (d *direct) send(ctx context.Context, object runtime.Object, namespace string, request func(client.Client) error) error {
	err := request(d.current())
	if err == nil {
		return nil
	}
	kind, kindErr := apiutil.GVKForObject(object, d.options.Scheme)
	if kindErr != nil {
		return err
	}
	if meta.IsListType(object) {
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	}
	if !IsTypeless(err) && !d.misplaced(err, kind, namespace) || IsNoMatch(err) {
		// The mapper has just asked the server about an unknown type.
		return err
	}
	before, _ := d.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if RenewTypes(ctx, d.mapper, kind.Group) != nil {
		return err
	}
	after, lookErr := d.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if lookErr != nil || before != nil && before.Resource == after.Resource && before.Scope.Name() == after.Scope.Name() {
		return err
	}
	return request(d.current())
}

// misplaced reports whether a request was not sent because the cached type is namespaced, and the object has no
// namespace.
func (d *direct) misplaced(err error, kind schema.GroupVersionKind, namespace string) bool {
	var status apierrors.APIStatus
	if namespace != "" || errors.As(err, &status) {
		return false
	}
	mapping, lookErr := d.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	return lookErr == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// Get reads an object.
func (d *direct) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return d.send(ctx, object, key.Namespace, func(c client.Client) error { return c.Get(ctx, key, object, options...) })
}

// List reads objects.
func (d *direct) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return d.send(ctx, list, "any", func(c client.Client) error { return c.List(ctx, list, options...) })
}

// Apply applies a configuration.
func (d *direct) Apply(ctx context.Context, configuration runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	object, ok := configuration.(client.Object)
	if !ok {
		return d.current().Apply(ctx, configuration, options...)
	}
	return d.send(ctx, object, object.GetNamespace(), func(c client.Client) error { return c.Apply(ctx, configuration, options...) })
}

// Create creates an object.
func (d *direct) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return d.send(ctx, object, object.GetNamespace(), func(c client.Client) error { return c.Create(ctx, object, options...) })
}

// Delete deletes an object.
func (d *direct) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return d.send(ctx, object, object.GetNamespace(), func(c client.Client) error { return c.Delete(ctx, object, options...) })
}

// Update replaces an object.
func (d *direct) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return d.send(ctx, object, object.GetNamespace(), func(c client.Client) error { return c.Update(ctx, object, options...) })
}

// Patch changes an object.
func (d *direct) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return d.send(ctx, object, object.GetNamespace(), func(c client.Client) error { return c.Patch(ctx, object, patch, options...) })
}

// DeleteAllOf deletes objects.
func (d *direct) DeleteAllOf(ctx context.Context, object client.Object, options ...client.DeleteAllOfOption) error {
	return d.send(ctx, object, "any", func(c client.Client) error { return c.DeleteAllOf(ctx, object, options...) })
}

// Status returns a client for the status of objects.
func (d *direct) Status() client.SubResourceWriter { return d.current().Status() }

// SubResource returns a client for a subresource of objects.
func (d *direct) SubResource(name string) client.SubResourceClient {
	return d.current().SubResource(name)
}

// Scheme returns the scheme of the client.
func (d *direct) Scheme() *runtime.Scheme { return d.current().Scheme() }

// RESTMapper returns the mapper of the client, a *RESTMapper.
func (d *direct) RESTMapper() meta.RESTMapper { return d.mapper }

// GroupVersionKindFor returns the type of an object.
func (d *direct) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	return d.current().GroupVersionKindFor(object)
}

// IsObjectNamespaced reports whether the type of an object is namespaced.
func (d *direct) IsObjectNamespaced(object runtime.Object) (bool, error) {
	return d.current().IsObjectNamespaced(object)
}

// IsNoMatch reports whether an error of a client, or of its REST mapper, means that a type is not served. An API that
// does not answer is another error.
func IsNoMatch(err error) bool {
	if discovery, failed := errors.AsType[*apiutil.ErrResourceDiscoveryFailed](err); failed {
		for _, cause := range *discovery {
			// The REST mapper returns either, depending on whether it was the first look-up.
			if !apierrors.IsNotFound(cause) && !meta.IsNoMatchError(cause) {
				return false
			}
		}
		return true
	}
	return meta.IsNoMatchError(err)
}

// IsTypeless reports whether an error means that an object does not exist because its type is not served in the
// requested version, scope or name. The type may still be served otherwise.
func IsTypeless(err error) bool {
	if IsNoMatch(err) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	// The API server names the missing object, unless no handler exists for its type.
	details := status.Status().Details
	return details == nil || details.Name == "" || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
