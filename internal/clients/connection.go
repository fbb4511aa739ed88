// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/component-operator/runtime/pkg/cluster"
)

// connect makes the connection for a key. It sends no request.
func (f *Factory) connect(key Key) (*Connection, error) {
	limits := &bounds{patience: f.options.Patience, remote: len(key.KubeConfig) > 0}
	config, err := f.config(key, limits)
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the transport: %w", err)
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("finding the server: %w", err)
	}
	connection := &Connection{limits: limits, host: server.Host}
	// All connections to the local cluster share the operator's mapper and recorder: the types of a cluster do not
	// depend on the identity, and impersonated users are rarely allowed to write events. Each remote connection has its
	// own.
	var mapper meta.RESTMapper
	var recorder record.EventRecorder
	if !limits.remote && f.local != nil {
		mapper, recorder = f.local.RESTMapper(), f.local.EventRecorder()
	} else {
		if mapper, err = cluster.NewRESTMapper(config, httpClient); err != nil {
			return nil, err
		}
		core, err := corev1client.NewForConfigAndClient(config, httpClient)
		if err != nil {
			return nil, fmt.Errorf("setting up events: %w", err)
		}
		connection.ownEvents = record.NewBroadcaster()
		connection.ownEvents.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: core.Events("")})
		recorder = connection.ownEvents.NewRecorder(f.options.Scheme, corev1.EventSource{Component: f.options.Name})
	}
	if connection.Client, err = bundle(config, httpClient, f.options.Scheme, mapper, recorder); err != nil {
		connection.close()
		return nil, err
	}
	return connection, nil
}

// config returns a new configuration for the key.
func (f *Factory) config(key Key, limits *bounds) (*rest.Config, error) {
	config := rest.CopyConfig(f.options.Config)
	if len(key.KubeConfig) > 0 {
		remote, err := parseKubeConfig(key.KubeConfig, f.options.Hosts)
		if err != nil {
			return nil, err
		}
		config = remote
	}
	unlimit(config)
	if config.UserAgent == "" {
		config.UserAgent = f.options.Name
	}
	limits.confine(config)
	if f.options.WrapTransport != nil {
		config.Wrap(f.options.WrapTransport)
	}
	Instrument(config)
	config.WarningHandler = nil
	config.WarningHandlerWithContext = collecting{next: f.options.WarningHandler}
	if err := impersonate(config, key); err != nil {
		return nil, err
	}
	return config, nil
}

// unlimit removes the default limit of client-go, 5 requests a second, unless the configuration sets one. The API
// server protects itself, and reconcilers adjust to it.
func unlimit(config *rest.Config) {
	if config.QPS == 0 && config.RateLimiter == nil {
		config.QPS = -1
	}
}

func impersonate(config *rest.Config, key Key) error {
	if key.User == "" {
		if len(key.Groups) > 0 {
			return fmt.Errorf("impersonating groups %v needs a user", key.Groups)
		}
		return nil
	}
	present := config.Impersonate
	if present.UserName != "" || present.UID != "" || len(present.Groups) > 0 || len(present.Extra) > 0 {
		if len(key.KubeConfig) > 0 {
			return fmt.Errorf("impersonating %s: the kubeconfig already impersonates %q", key.User, present.UserName)
		}
		return fmt.Errorf("impersonating %s: the operator itself already impersonates %q", key.User, present.UserName)
	}
	config.Impersonate.UserName = key.User
	config.Impersonate.Groups = key.Groups
	return nil
}
