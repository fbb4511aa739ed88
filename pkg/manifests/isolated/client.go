// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/component-operator/runtime/pkg/cluster"
)

// caller sends a call and returns the answer.
type caller interface {
	call(ctx context.Context, asked call) (answer, error)
}

// errNoConnection is the error of every request that is no call.
var errNoConnection = errors.New("an isolated generator has no connection to the cluster; its clients can only get and list objects, and map kinds")

// noConnection is the transport of clients that must not connect anywhere.
type noConnection struct{}

func (noConnection) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNoConnection }

// reader reads by calls. All other requests use a client without connection, and fail.
type reader struct {
	client.Client
	caller caller
	local  bool
}

// newClient returns a client for the target cluster, or for the cluster of the component.
func newClient(caller caller, scheme *runtime.Scheme, local bool) (cluster.Client, error) {
	config := &rest.Config{Host: "https://isolated.invalid", Transport: noConnection{}}
	httpClient := &http.Client{Transport: noConnection{}}
	unconnected, err := client.New(config, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: &mapper{caller: caller, local: local}})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating a discovery client: %w", err)
	}
	clnt := &reader{Client: unconnected, caller: caller, local: local}
	return cluster.NewClient(clnt, discoveryClient, &record.FakeRecorder{}, config, httpClient), nil
}

// Get reads an object.
func (r *reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(object, r.Scheme())
	if err != nil {
		return err
	}
	given := (&client.GetOptions{}).ApplyOptions(options)
	_, metadataOnly := object.(*metav1.PartialObjectMetadata)
	asked := call{Local: r.local, Get: &getCall{Kind: kind, MetadataOnly: metadataOnly, Key: key, Options: given.AsGetOptions()}}
	result, err := r.caller.call(ctx, asked)
	if err != nil {
		return err
	}
	return fill(object, result.Content)
}

// List reads several objects.
func (r *reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind, err := apiutil.GVKForObject(list, r.Scheme())
	if err != nil {
		return err
	}
	given := (&client.ListOptions{}).ApplyOptions(options)
	_, metadataOnly := list.(*metav1.PartialObjectMetadataList)
	asked := call{Local: r.local, List: &listCall{Kind: kind, MetadataOnly: metadataOnly, Namespace: given.Namespace, Options: *given.AsListOptions()}}
	result, err := r.caller.call(ctx, asked)
	if err != nil {
		return err
	}
	return fill(list, result.Content)
}

func fill(target runtime.Object, content map[string]any) error {
	if u, ok := target.(runtime.Unstructured); ok {
		u.SetUnstructuredContent(content)
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, target); err != nil {
		return fmt.Errorf("converting what was read to %T: %w", target, err)
	}
	return nil
}

// mapper maps kinds by calls, and nothing else.
type mapper struct {
	caller caller
	local  bool
}

var _ meta.RESTMapper = &mapper{}

// RESTMapping maps a kind.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	// The interface has no context; the process ends with that of the rendering.
	result, err := m.caller.call(context.Background(), call{Local: m.local, Mapping: &mappingCall{Kind: kind, Versions: versions}})
	if err != nil {
		return nil, err
	}
	scope := meta.RESTScopeRoot
	if result.Mapping.Scope == meta.RESTScopeNameNamespace {
		scope = meta.RESTScopeNamespace
	}
	return &meta.RESTMapping{Resource: result.Mapping.Resource, GroupVersionKind: result.Mapping.Kind, Scope: scope}, nil
}

// RESTMappings returns the one mapping that RESTMapping returns.
func (m *mapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	mapping, err := m.RESTMapping(kind, versions...)
	if err != nil {
		return nil, err
	}
	return []*meta.RESTMapping{mapping}, nil
}

// KindFor fails.
func (m *mapper) KindFor(schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return schema.GroupVersionKind{}, errNoConnection
}

// KindsFor fails.
func (m *mapper) KindsFor(schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return nil, errNoConnection
}

// ResourceFor fails.
func (m *mapper) ResourceFor(schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return schema.GroupVersionResource{}, errNoConnection
}

// ResourcesFor fails.
func (m *mapper) ResourcesFor(schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return nil, errNoConnection
}

// ResourceSingularizer fails.
func (m *mapper) ResourceSingularizer(string) (string, error) {
	return "", errNoConnection
}
