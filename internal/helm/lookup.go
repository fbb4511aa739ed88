// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
)

// lookupProvider lets the template function lookup read through a given client, and with the context of the
// rendering; the SDK would create clients of its own and use no context at all. It lives as long as one
// rendering, therefore it may keep the context.
type lookupProvider struct {
	ctx    context.Context
	client func() (client.Client, error)
}

// newLookupProvider returns a provider that gets the client on first use.
func newLookupProvider(ctx context.Context, getClient func() (client.Client, error)) *lookupProvider {
	return &lookupProvider{ctx: ctx, client: sync.OnceValues(getClient)}
}

// GetClientFor implements the SDK's ClientProvider.
func (p *lookupProvider) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	if apiVersion == "" || kind == "" {
		return nil, false, errors.New("lookup needs an API version and a kind")
	}
	clnt, err := p.client()
	if err != nil {
		return nil, false, fmt.Errorf("looking up %s %s: %w", apiVersion, kind, err)
	}
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	mapping, err := clnt.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case cluster.IsNoMatch(err):
		return &lookupResource{provider: p, gvk: gvk, unknown: true}, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("looking up %s %s: %w", apiVersion, kind, err)
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	return &lookupResource{provider: p, clnt: clnt, gvk: gvk, namespaced: namespaced}, namespaced, nil
}

// lookupResource implements the part of a dynamic client that the SDK uses: reading. The embedded interface
// is nil.
type lookupResource struct {
	dynamic.NamespaceableResourceInterface
	provider   *lookupProvider
	clnt       client.Client
	gvk        schema.GroupVersionKind
	namespaced bool
	namespace  string
	unknown    bool
}

// Namespace restricts reading to one namespace.
func (r *lookupResource) Namespace(namespace string) dynamic.ResourceInterface {
	restricted := *r
	restricted.namespace = namespace
	return &restricted
}

// Get reads one object. Its context is ignored, because the SDK passes the background context.
func (r *lookupResource) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if r.unknown || (r.namespaced && r.namespace == "") {
		return nil, r.notFound(name)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(r.gvk)
	//nolint:contextcheck // the context of the rendering is the one to be used, see lookupProvider
	if err := r.clnt.Get(r.provider.ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, object); err != nil {
		return nil, r.wrap(err)
	}
	return object, nil
}

// List reads all objects. Its context is ignored, because the SDK passes the background context.
func (r *lookupResource) List(_ context.Context, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if r.unknown {
		return nil, r.notFound("")
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(r.gvk.GroupVersion().WithKind(r.gvk.Kind + "List"))
	//nolint:contextcheck // the context of the rendering is the one to be used, see lookupProvider
	if err := r.clnt.List(r.provider.ctx, list, client.InNamespace(r.namespace)); err != nil {
		return nil, r.wrap(err)
	}
	return list, nil
}

func (r *lookupResource) wrap(err error) error {
	// A type that has gone since it was mapped counts as unknown.
	if cluster.IsNoMatch(err) {
		return r.notFound("")
	}
	return fmt.Errorf("looking up %s %s: %w", r.gvk.GroupVersion(), r.gvk.Kind, err)
}

func (r *lookupResource) notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: r.gvk.Group, Resource: r.gvk.Kind}, name)
}
