// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/component-operator/runtime/pkg/cluster"
)

// ErrClosed is returned by Get after the factory was closed.
var ErrClosed = errors.New("the client factory is closed")

// Connection is a client for one cluster as one identity.
type Connection struct {
	cluster.Client
	// ID identifies cluster and identity. It is equal for equal keys, in any process, and reveals no secret.
	ID string

	// own is the recorder of this connection; nil if it uses the one of the local connection.
	own    *recorder
	limits *bounds
	// host is the host and port of the server, as metrics have it.
	host string
}

// close closes the recorder, and retires the network connections.
func (c *Connection) close() {
	if c.own != nil {
		c.own.close()
	}
	c.limits.retire()
}

// Factory makes and keeps connections. It is safe for concurrent use.
type Factory struct {
	options Options
	local   *Connection

	mu      sync.Mutex
	closed  bool
	active  int
	entries map[string]*entry
	// dropped has the hosts of connections that were dropped since the last sweep, settled those of the time between the last two. What was under way when a
	// connection was dropped is counted a little later.
	dropped, settled []string
}

// entry is a connection that is kept or being made. All fields but making are guarded by the factory's mutex.
type entry struct {
	making     sync.Once
	connection *Connection
	err        error
	lastUsed   time.Time
}

// New returns a Factory. It sends no request. Run or Close free its resources.
func New(options Options) (*Factory, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	f := &Factory{options: options, entries: map[string]*entry{}}
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

// Get returns the connection for the key, and extends its validity. It sends no request, so only the use of the connection shows
// whether the cluster can be reached. An error means that the key is invalid; retrying is useless.
func (f *Factory) Get(key Key) (*Connection, error) {
	key.Groups = slices.Compact(slices.Sorted(slices.Values(key.Groups)))
	if len(key.KubeConfig) == 0 && key.User == "" && len(key.Groups) == 0 {
		return f.ownConnection()
	}
	id, err := key.ID()
	if err != nil {
		return nil, err
	}
	kept, err := f.use(id)
	if err != nil {
		return nil, err
	}
	kept.making.Do(func() { f.fill(kept, id, key) })
	f.mu.Lock()
	defer f.mu.Unlock()
	return kept.connection, kept.err
}

func (f *Factory) ownConnection() (*Connection, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	return f.local, nil
}

// use finds or adds an entry and extends its validity.
func (f *Factory) use(id string) (*entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	kept := f.entries[id]
	if kept == nil {
		kept = &entry{}
		f.entries[id] = kept
	}
	kept.lastUsed = f.options.Clock.Now()
	return kept, nil
}

// fill makes the connection of an entry. It removes the entry if that fails.
func (f *Factory) fill(kept *entry, id string, key Key) {
	connection, err := f.connect(key)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		kept.err = err
		delete(f.entries, id)
	case f.closed:
		connection.close()
		kept.err = ErrClosed
	default:
		connection.ID = id
		kept.connection = connection
		f.active++
		f.options.Metrics.ClientCreated()
		f.options.Metrics.ClientsActive(f.active)
	}
}

// Drop drops the connection with this ID, if it is kept. The operator's own connection is not dropped.
func (f *Factory) Drop(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if kept := f.entries[id]; kept != nil && kept.connection != nil {
		f.dropLocked(id, kept)
	}
}

func (f *Factory) dropLocked(id string, kept *entry) {
	kept.connection.close()
	f.dropped = append(f.dropped, kept.connection.host)
	delete(f.entries, id)
	f.active--
	f.options.Metrics.ClientsActive(f.active)
}

// Run drops connections whose validity has ended, until the context ends, and then closes the factory.
func (f *Factory) Run(ctx context.Context) error {
	defer f.Close()
	ticker := f.options.Clock.NewTicker(max(f.options.Validity/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			f.sweep()
		}
	}
}

// Start is Run, for a manager.
func (f *Factory) Start(ctx context.Context) error {
	return f.Run(ctx)
}

// NeedLeaderElection makes a manager run the factory on all replicas.
func (f *Factory) NeedLeaderElection() bool {
	return false
}

func (f *Factory) sweep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.options.Clock.Now()
	used := map[string]bool{f.local.host: true}
	for id, kept := range f.entries {
		switch {
		case kept.connection == nil:
		case now.Sub(kept.lastUsed) >= f.options.Validity:
			f.dropLocked(id, kept)
		default:
			used[kept.connection.host] = true
		}
	}
	for _, host := range f.settled {
		if !used[host] {
			f.options.Metrics.HostDropped(host)
		}
	}
	f.settled, f.dropped = f.dropped, nil
}

// Close drops all connections. It may be called more than once.
func (f *Factory) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	for _, kept := range f.entries {
		if kept.connection != nil {
			kept.connection.close()
		}
	}
	f.local.close()
	clear(f.entries)
	f.options.Metrics.ClientsActive(0)
}
