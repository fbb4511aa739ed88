// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"github.com/component-operator/runtime/internal/apiserver"
)

// Memory is what a process remembers about its writes of one component. Losing it costs requests, nothing else. Only
// one pass uses it at a time. The zero value is ready for use.
type Memory struct {
	// written is the resource version of our last write.
	written string
	// confirmed is set when the component was read from the server.
	confirmed bool
	// sent is the last written status, received the server's version of it; set only if they differ.
	sent, received map[string]any
	// reported has the dropped fields that were reported before.
	reported map[string]bool
	// rejections is the number of consecutive rejected status writes.
	rejections int
}

// Rejected counts a rejected status, and returns the number of consecutive ones.
func (m *Memory) Rejected() int {
	m.rejections++
	return m.rejections
}

// isOutdated reports whether the version is older than our last write.
func (m *Memory) isOutdated(version string) bool {
	return m.written != "" && apiserver.Older(version, m.written)
}
