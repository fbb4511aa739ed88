// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// renewInterval is how long a result about a group counts as recent. It bounds the requests of callers that ask again
// and again for a type that does not exist.
const renewInterval = time.Second

// RESTMapper finds types when they are first used, as controller-runtime's mapper does. In addition, RenewTypes and
// LearnTypes replace what it has about a group: controller-runtime's mapper keeps scope and resource of a type for
// ever, although a recreated CustomResourceDefinition may have others. It is safe for concurrent use.
//
// It reports a type as not served only if the API server says so; an API that does not answer is another error.
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

// RenewTypes makes a mapper read the types of a group again, because a request, or the scope of a type, has shown that
// they may be outdated. If the server does not answer completely, the mapper keeps what it has, and RenewTypes returns
// an error. It does nothing if the last result is less than a second old, or if the mapper is no RESTMapper of this
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

// find looks a type up in the group's mapper, and after a renewal once more if it is not there.
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

// KindsFor returns all kinds that fit a resource.
func (m *RESTMapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return find(m, resource.Group, func(mapper meta.RESTMapper) ([]schema.GroupVersionKind, error) { return mapper.KindsFor(resource) })
}

// ResourceFor completes a resource.
func (m *RESTMapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return find(m, input.Group, func(mapper meta.RESTMapper) (schema.GroupVersionResource, error) { return mapper.ResourceFor(input) })
}

// ResourcesFor returns all resources that fit.
func (m *RESTMapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return find(m, input.Group, func(mapper meta.RESTMapper) ([]schema.GroupVersionResource, error) { return mapper.ResourcesFor(input) })
}

// RESTMapping returns how a kind is accessed, in one of the versions or, without them, in the preferred one.
func (m *RESTMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return find(m, kind.Group, func(mapper meta.RESTMapper) (*meta.RESTMapping, error) { return mapper.RESTMapping(kind, versions...) })
}

// RESTMappings returns how a kind is accessed in each of the versions, or in all of them.
func (m *RESTMapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return find(m, kind.Group, func(mapper meta.RESTMapper) ([]*meta.RESTMapping, error) {
		return mapper.RESTMappings(kind, versions...)
	})
}

// ResourceSingularizer returns the singular of a resource.
func (m *RESTMapper) ResourceSingularizer(resource string) (string, error) {
	return m.lazy.ResourceSingularizer(resource)
}
