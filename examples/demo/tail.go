// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"sync"
)

// tailSize is the number of bytes of the log that are shown after a failure.
const tailSize = 8 << 10

// A tail keeps the end of what is written to it. It is safe for concurrent use.
type tail struct {
	mu      sync.Mutex
	content []byte
}

// Write appends p, and drops the oldest bytes beyond tailSize.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.content = append(t.content, p...)
	if excess := len(t.content) - tailSize; excess > 0 {
		t.content = append(t.content[:0], t.content[excess:]...)
	}
	return len(p), nil
}

// String returns the complete lines: if bytes were dropped, it begins after the first line break.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	content := t.content
	if len(content) == tailSize {
		content = content[bytes.IndexByte(content, '\n')+1:]
	}
	return string(content)
}
