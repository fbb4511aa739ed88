// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Memory is what a process remembers of its writes of one component. To lose it costs requests. It is used by one pass at a time, except for
// Awaits. The zero value is ready for use.
type Memory struct {
	mu sync.Mutex
	// written is the resource version of our last write; protected.
	written string
	// awaiting is set while a pass waits for the cache to show our last write; protected.
	awaiting bool

	// awaitingSince is when the first pass found the cache outdated; zero if it is not.
	awaitingSince time.Time
	// confirmed is set when the component was read from the server.
	confirmed bool
	// sent is the status as we wrote it last, received what the server made of it; set only if the two differ.
	sent, received map[string]any
	// complained holds the fields that the server dropped and that were reported already.
	complained map[string]bool
	// rejections counts attempts in a row to write a status that the server did not accept.
	rejections int
}

// Awaits reports whether a pass waits for this version of the component, or a later one. It may be called at any time.
func (m *Memory) Awaits(version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.awaiting && !isOlder(version, m.written)
}

// Rejected counts a status that the server did not accept, and returns how many there were in a row.
func (m *Memory) Rejected() int {
	m.rejections++
	return m.rejections
}

// wrote notes the resource version of a write of ours.
func (m *Memory) wrote(version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written = version
}

// isOutdated reports whether the version is older than our last write. If so, the next event about the component that is
// not will be let through, whatever it is about; see Awaits.
func (m *Memory) isOutdated(version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.awaiting = m.written != "" && isOlder(version, m.written)
	return m.awaiting
}

// isOlder compares as integers; versions that do not compare count as not older.
func isOlder(version, other string) bool {
	if version == other {
		return false
	}
	result, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && result < 0
}
