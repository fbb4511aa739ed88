// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"net"
	"sync"
	"time"
)

// sockets are the open network connections of a transport. The transport itself closes only idle ones, some time after the last
// request.
type sockets struct {
	mu   sync.Mutex
	open map[*socket]bool
}

type socket struct {
	net.Conn

	sockets *sockets
}

// dial opens a network connection, with the defaults of client-go.
func (s *sockets) dial(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*socket]bool{}
	}
	opened := &socket{Conn: connection, sockets: s}
	s.open[opened] = true
	return opened, nil
}

// Close closes the network connection.
func (c *socket) Close() error {
	c.sockets.mu.Lock()
	delete(c.sockets.open, c)
	c.sockets.mu.Unlock()
	return c.Conn.Close()
}

// close closes all network connections that are open.
func (s *sockets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for opened := range s.open {
		_ = opened.Conn.Close()
	}
	s.open = nil
}
