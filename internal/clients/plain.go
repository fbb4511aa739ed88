// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
)

// Plain returns a client without a factory: it is never closed, has no time limits but those of the configuration, and
// discards events. Requests are not limited unless the configuration says so. Plain makes no request.
func Plain(config *rest.Config) (cluster.Client, error) {
	config = rest.CopyConfig(config)
	unlimit(config)
	(&bounds{patience: Patience{Answer: forever, Whole: forever}}).confine(config)
	Instrument(config)
	config.WarningHandler, config.WarningHandlerWithContext = nil, collecting{next: rest.NoWarnings{}}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the transport: %w", err)
	}
	mapper, err := cluster.NewRESTMapper(config, httpClient)
	if err != nil {
		return nil, err
	}
	return bundle(config, httpClient, scheme, mapper, &record.FakeRecorder{})
}

// bundle combines the clients of a connection, which share its transport.
func bundle(config *rest.Config, httpClient *http.Client, scheme *runtime.Scheme, mapper meta.RESTMapper, recorder record.EventRecorder) (cluster.Client, error) {
	clnt, err := cluster.NewDirectClient(config, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, err
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("setting up discovery: %w", err)
	}
	return cluster.NewClient(clnt, discoveryClient, recorder, config, httpClient), nil
}
