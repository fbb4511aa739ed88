// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/http"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
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
