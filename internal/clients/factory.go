// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/record"

	"github.com/component-operator/runtime/pkg/cluster"
)

// ErrClosed is returned by Get after the factory was closed.
var ErrClosed = errors.New("the client factory is closed")

// Connection is a client for one cluster as one identity.
type Connection struct {
	cluster.Client
	// ID identifies cluster and identity. It is equal for equal keys, in any process, and reveals no secret.
	ID string

	// ownEvents writes the events of this connection; nil if it uses that of the local one.
	ownEvents record.EventBroadcaster
	limits    *bounds
	// host is the host and port of the server, as metrics have it.
	host string
}

// closingDelay is how long requests that are under way when a connection is dropped may take, such as those for events.
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

// Get returns the connection for the key, which is kept until it is dropped. It sends no request, so only the use of
// the connection shows whether the cluster can be reached. An error means that the key is invalid; retrying is useless.
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
