// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/bench/internal/bundles"
	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// A connection is one client of the benchmark with its own user agent, TCP connection and record of requests.
type connection struct {
	agent    string
	config   *rest.Config
	requests *requests.Recorder
	http     *http.Client
	client   client.WithWatch
}

func newConnection(admin *rest.Config, agent string) (*connection, error) {
	c := &connection{agent: agent, config: rest.CopyConfig(admin), requests: &requests.Recorder{}}
	c.config.UserAgent = agent
	c.config.QPS = -1
	// With a dialer of its own, the client does not share connections with others of this process.
	c.config.Dial = (&net.Dialer{}).DialContext
	c.config.Wrap(c.requests.Wrap)
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	if c.http, err = rest.HTTPClientFor(c.config); err != nil {
		return nil, fmt.Errorf("connecting as %s: %w", agent, err)
	}
	if c.client, err = client.NewWithWatch(c.config, client.Options{HTTPClient: c.http, Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("connecting as %s: %w", agent, err)
	}
	return c, nil
}

// rest returns a client for the resources of one API version that neither encodes nor decodes.
func (c *connection) rest(of client.Object) (rest.Interface, error) {
	gvk, err := c.client.GroupVersionKindFor(of)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(c.config)
	groupVersion := gvk.GroupVersion()
	config.GroupVersion, config.APIPath = &groupVersion, "/apis"
	if gvk.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, c.http)
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, apiextensionsv1.AddToScheme, bundles.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// isDependent tells whether the request is about objects that dependents can be, not about events, leases, namespaces or
// components.
func isDependent(r requests.Request) bool {
	return r.Resource == "configmaps" || r.Resource == "deployments" || r.Resource == "customresourcedefinitions"
}

func isDependentWrite(r requests.Request) bool { return isDependent(r) && r.IsWrite() }

// isDependentRead does not count watches.
func isDependentRead(r requests.Request) bool {
	return isDependent(r) && !r.IsWrite() && !r.IsWatch()
}

func isEvent(r requests.Request) bool { return r.Resource == "events" }

func isLease(r requests.Request) bool { return r.Resource == "leases" }

// isWrite counts everything that changes the cluster, save events.
func isWrite(r requests.Request) bool { return r.IsWrite() && !isEvent(r) && !isLease(r) }

// tally returns the number of requests for which the condition holds.
func tally(list []requests.Request, condition func(requests.Request) bool) int {
	n := 0
	for _, r := range list {
		if condition(r) {
			n++
		}
	}
	return n
}

// isContentWrite tells writes of what a generator returned, whose names end with a number, from those of ConfigMaps that keep an
// inventory, whose names end with a digest.
func isContentWrite(r requests.Request) bool {
	number, err := strconv.Atoi(r.Name[strings.LastIndex(r.Name, "-")+1:])
	return err == nil && number < 1_000_000 && isDependentWrite(r)
}
