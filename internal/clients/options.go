// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/component-operator/runtime/internal/manifest"
)

// Metrics counts connections, except the operator's own. It must be safe for concurrent use.
type Metrics interface {
	// ClientCreated is called for each new connection.
	ClientCreated()
	// ClientsActive is called with the number of kept connections whenever it changes.
	ClientsActive(count int)
	// HostDropped is called with the host and port of a remote cluster when its last connection was dropped.
	HostDropped(host string)
}

// Options configure a Factory.
type Options struct {
	// Name is the source of events, and the user agent unless Config has one. Required.
	Name string
	// Config is for the local cluster as the operator itself. Required; not changed. Requests are not limited unless it
	// sets a limit.
	Config *rest.Config
	// Scheme of the clients. Defaults to NewScheme(). Objects of other types can be handled in unstructured form.
	Scheme *runtime.Scheme
	// Hosts are those that kubeconfigs may lead to. Defaults to all.
	Hosts Hosts
	// Patience limits how long to wait for servers.
	Patience Patience
	// WrapTransport wraps the transport of each connection, for example to count requests. Defaults to none.
	WrapTransport func(http.RoundTripper) http.RoundTripper
	// WarningHandler gets warnings of requests without a Collector. Defaults to the one of Config, or else to
	// controller-runtime's, which logs them.
	WarningHandler rest.WarningHandlerWithContext
	// Metrics defaults to none.
	Metrics Metrics
}

// Key identifies a cluster and an identity. The zero value is the local cluster as the operator itself.
type Key struct {
	// KubeConfig is the kubeconfig of a remote cluster. If empty, the cluster is the local one.
	KubeConfig []byte
	// User is impersonated if not empty. It is not allowed with a kubeconfig (or local config) that impersonates a user
	// itself.
	User string
	// Groups are impersonated along with User, which is required then. Their order is irrelevant.
	Groups []string
}

// remotePrefix is the beginning of the IDs of connections to remote clusters.
const remotePrefix = "remote-"

// IsRemote reports whether an ID is that of a connection to a remote cluster.
func IsRemote(id string) bool { return strings.HasPrefix(id, remotePrefix) }

// ID returns the ID of the connection for the key. No content of a kubeconfig makes it fail.
func (k Key) ID() (string, error) {
	groups := slices.Compact(slices.Sorted(slices.Values(k.Groups)))
	content, err := manifest.Digest([]any{k.KubeConfig, k.User, groups})
	if err != nil {
		return "", err
	}
	if len(k.KubeConfig) == 0 {
		return "local-" + content, nil
	}
	return remotePrefix + content, nil
}

// complete checks the options and returns them with defaults.
func (o Options) complete() (Options, error) {
	if o.Name == "" || o.Config == nil {
		return o, errors.New("a client factory needs a name and the configuration of the local cluster")
	}
	if err := o.Hosts.Validate(); err != nil {
		return o, err
	}
	if o.Scheme == nil {
		scheme, err := NewScheme()
		if err != nil {
			return o, err
		}
		o.Scheme = scheme
	}
	o.Patience = o.Patience.complete()
	if o.WarningHandler == nil {
		o.WarningHandler = o.Config.WarningHandlerWithContext
	}
	if o.WarningHandler == nil {
		o.WarningHandler = ctrllog.NewKubeAPIWarningLogger(ctrllog.KubeAPIWarningLoggerOptions{})
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	return o, nil
}

type noMetrics struct{}

func (noMetrics) ClientCreated()     {}
func (noMetrics) ClientsActive(int)  {}
func (noMetrics) HostDropped(string) {}
