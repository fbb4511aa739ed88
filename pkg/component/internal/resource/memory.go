// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"sync"
	"time"

	"github.com/component-operator/runtime/internal/apiserver"
)

// Memory is what a process remembers about its writes of one component. Losing it costs requests, nothing else. Only
// one pass uses it at a time, except for Awaits. The zero value is ready for use.
type Memory struct {
	mu sync.Mutex
	// written is the resource version of our last write; protected.
	written string
	// awaiting is set while a pass waits for the cache to show our last write; protected.
	awaiting bool

	// awaitingSince is when the first pass found the cache outdated; zero if it is current.
	awaitingSince time.Time
	// confirmed is set when the component was read from the server.
	confirmed bool
	// sent is the last written status, received the server's version of it; set only if they differ.
	sent, received map[string]any
	// reported has the dropped fields that were reported before.
	reported map[string]bool
	// rejections is the number of consecutive rejected status writes.
	rejections int
}

// Awaits reports whether a pass waits for this version of the component, or a later one. It may be called at any time.
func (m *Memory) Awaits(version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.awaiting && !apiserver.Older(version, m.written)
}

// Rejected counts a rejected status, and returns the number of consecutive ones.
func (m *Memory) Rejected() int {
	m.rejections++
	return m.rejections
}

// wrote records the resource version of our last write.
func (m *Memory) wrote(version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written = version
}

// isOutdated reports whether the version is older than our last write. If so, the next event with a current version
// passes the filter, whatever it is about; see Awaits.
func (m *Memory) isOutdated(version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.awaiting = m.written != "" && apiserver.Older(version, m.written)
	return m.awaiting
}
