// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/types"
)

// ErrClosed is returned by Get after the factory was closed.
var ErrClosed = errors.New("the client factory is closed")

// Connection is a client for one cluster as one identity.
type Connection struct {
	cluster.Client
	// ID identifies cluster and identity. It is equal for equal keys, in any process, and reveals no secret.
	ID string

	// ownEvents writes the events of this connection; nil if it uses the local connection's broadcaster.
	ownEvents record.EventBroadcaster
	limits    *bounds
	// host is the host and port of the server, in the form of the metrics.
	host string
}

// closingDelay is the time that requests under way, such as those for events, have after their connection is dropped.
const closingDelay = 10 * time.Second

// close discards later events, and closes the network connections some time later.
func (c *Connection) close() {
	if c.ownEvents != nil {
		c.ownEvents.Shutdown()
	}
	if c.limits.sockets != nil {
		time.AfterFunc(closingDelay, c.limits.sockets.CloseAll)
	}
}

// Factory makes and keeps connections. It is safe for concurrent use.
type Factory struct {
	options Options
	local   *Connection

	mu     sync.Mutex
	closed bool
	kept   map[string]*Connection // by ID
}

// New returns a Factory. It sends no request. Close frees its resources.
func New(options Options) (*Factory, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	f := &Factory{options: options, kept: map[string]*Connection{}}
	local, err := f.connect(Key{})
	if err != nil {
		return nil, fmt.Errorf("connecting to the local cluster: %w", err)
	}
	local.ID = "local"
	f.local = local
	return f, nil
}

// Local returns the connection to the local cluster as the operator itself. It is kept until the factory is closed.
func (f *Factory) Local() *Connection {
	return f.local
}

// Get returns the connection for the key, which is kept until it is dropped. It sends no request, so it does not check
// whether the cluster can be reached. An error means that the key is invalid; retrying is useless.
func (f *Factory) Get(key Key) (*Connection, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	key.Groups = slices.Compact(slices.Sorted(slices.Values(key.Groups)))
	if len(key.KubeConfig) == 0 && key.User == "" && len(key.Groups) == 0 {
		return f.local, nil
	}
	id, err := key.ID()
	if err != nil {
		return nil, err
	}
	connection := f.kept[id]
	if connection == nil {
		if connection, err = f.connect(key); err != nil {
			return nil, err
		}
		connection.ID = id
		f.kept[id] = connection
		f.options.Metrics.ClientCreated()
		f.options.Metrics.ClientsActive(len(f.kept))
	}
	return connection, nil
}

// Drop drops the connection with this ID, if it is kept. The operator's own connection is not dropped.
func (f *Factory) Drop(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	connection := f.kept[id]
	if connection == nil {
		return
	}
	connection.close()
	delete(f.kept, id)
	f.options.Metrics.ClientsActive(len(f.kept))
	isUsed := func(other *Connection) bool { return other.host == connection.host }
	if !isUsed(f.local) && !slices.ContainsFunc(slices.Collect(maps.Values(f.kept)), isUsed) {
		f.options.Metrics.HostDropped(connection.host)
	}
}

// Close drops all connections. It may be called more than once.
func (f *Factory) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	for _, connection := range f.kept {
		connection.close()
	}
	f.local.close()
	clear(f.kept)
	f.options.Metrics.ClientsActive(0)
}

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
	// Config is for the local cluster as the operator itself. Required; not changed. Without a limit in it, the rate of
	// requests is not limited.
	Config *rest.Config
	// Scheme of the clients. Defaults to NewScheme(). Objects of other types can be handled in unstructured form.
	Scheme *runtime.Scheme
	// Hosts are the hosts that kubeconfigs may lead to. Defaults to all.
	Hosts Hosts
	// Patience limits the waiting time for servers.
	Patience Patience
	// WrapTransport wraps the transport of each connection, for example to count requests. Defaults to none.
	WrapTransport func(http.RoundTripper) http.RoundTripper
	// WarningHandler gets warnings of requests without a Collector. Defaults to the one of Config, then to
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
	logger := ctrllog.NewKubeAPIWarningLogger(ctrllog.KubeAPIWarningLoggerOptions{})
	o.WarningHandler = cmp.Or[rest.WarningHandlerWithContext](o.WarningHandler, o.Config.WarningHandlerWithContext, logger)
	o.Metrics = cmp.Or[Metrics](o.Metrics, noMetrics{})
	return o, nil
}

type noMetrics struct{}

func (noMetrics) ClientCreated()     {}
func (noMetrics) ClientsActive(int)  {}
func (noMetrics) HostDropped(string) {}

// connect makes the connection for a key. It sends no request.
func (f *Factory) connect(key Key) (*Connection, error) {
	limits := &bounds{patience: f.options.Patience, remote: len(key.KubeConfig) > 0}
	config, httpClient, err := f.transport(key, limits)
	if err != nil {
		return nil, err
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

// transport returns a new configuration for the key, and its transport.
func (f *Factory) transport(key Key, limits *bounds) (*rest.Config, *http.Client, error) {
	config := rest.CopyConfig(f.options.Config)
	if len(key.KubeConfig) > 0 {
		remote, err := parseKubeConfig(key.KubeConfig, f.options.Hosts)
		if err != nil {
			return nil, nil, err
		}
		config = remote
	}
	if config.QPS == 0 && config.RateLimiter == nil {
		// The default of client-go is 5 requests a second. The API server protects itself, and reconcilers adjust to it.
		config.QPS = -1
	}
	config.UserAgent = cmp.Or(config.UserAgent, f.options.Name)
	limits.confine(config)
	if f.options.WrapTransport != nil {
		config.Wrap(f.options.WrapTransport)
	}
	Instrument(config)
	config.WarningHandler = nil
	config.WarningHandlerWithContext = collecting{next: f.options.WarningHandler}
	if err := impersonate(config, key); err != nil {
		return nil, nil, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("setting up the transport: %w", err)
	}
	return config, httpClient, nil
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

// Plain returns a client without a factory: it is never closed, has only the time limits and the rate limit of the
// configuration, and discards events. Plain makes no request.
func Plain(config *rest.Config) (cluster.Client, error) {
	f := &Factory{options: Options{Config: config, WarningHandler: rest.NoWarnings{}}}
	config, httpClient, err := f.transport(Key{}, &bounds{patience: Patience{Answer: forever, Whole: forever}})
	if err != nil {
		return nil, err
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
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

// Instrument wraps the transport of the configuration, so that responses fill a Deletion in the context of their
// request.
func Instrument(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return deletions{next: next} })
}

// NewScheme returns a scheme with the built-in types, CustomResourceDefinition, APIService, and the types of the
// builders.
func NewScheme(builders ...types.SchemeBuilder) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("adding built-in types to the scheme: %w", err)
		}
	}
	for _, builder := range builders {
		if err := builder.AddToScheme(scheme); err != nil {
			return nil, fmt.Errorf("adding types to the scheme: %w", err)
		}
	}
	return scheme, nil
}
