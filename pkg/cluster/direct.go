// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// NewDirectClient returns a client that sends each request to the API server, as client.New does, and notices when a
// type is served under another name or with another scope than before. options.Mapper must be a *RESTMapper; if it is
// nil, one is made.
//
// If a request fails because its type is served differently than before, the client reads the types of its group again,
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
	d := &direct{config: config, options: options, mapper: mapper}
	generation := mapper.generation.Load()
	made, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("setting up the client: %w", err)
	}
	d.used.Store(&generated{Client: made, generation: generation})
	return d, nil
}

// direct replaces its inner client, which caches types for ever, when types have changed.
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

// RESTMapper returns the mapper that notices changed types.
func (d *direct) RESTMapper() meta.RESTMapper { return d.mapper }

// GroupVersionKindFor returns the type of an object.
func (d *direct) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	return d.current().GroupVersionKindFor(object)
}

// IsObjectNamespaced reports whether the type of an object is namespaced.
func (d *direct) IsObjectNamespaced(object runtime.Object) (bool, error) {
	return d.current().IsObjectNamespaced(object)
}
