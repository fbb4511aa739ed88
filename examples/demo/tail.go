// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"sync"
)

// tailSize is how much of a log is worth reading when something went wrong, in bytes.
const tailSize = 8 << 10

// A tail keeps the end of what is written to it. It may be used concurrently.
type tail struct {
	mu      sync.Mutex
	content []byte
}

// Write keeps p and forgets what no longer fits.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.content = append(t.content, p...)
	if excess := len(t.content) - tailSize; excess > 0 {
		t.content = append(t.content[:0], t.content[excess:]...)
	}
	return len(p), nil
}

// String returns the lines that are there completely, or in other words begins after the first line break if something
// was forgotten.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	content := t.content
	if len(content) == tailSize {
		content = content[bytes.IndexByte(content, '\n')+1:]
	}
	return string(content)
}
