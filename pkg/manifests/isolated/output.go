// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"regexp"
	"sync"
)

// tailSize is how much of the error output is kept: the end, where the Go runtime writes why the process ends.
const tailSize = 64 << 10

// tail keeps the end of the written output.
type tail struct {
	mu      sync.Mutex
	content []byte
}

// Write never fails.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.content = append(t.content, text...)
	if surplus := len(t.content) - tailSize; surplus > 0 {
		t.content = append([]byte(nil), t.content[surplus:]...)
	}
	return len(text), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.content)
}

// lastWords matches the line that the Go runtime writes when the process ends because of a panic or a fatal error. The race detector has
// a form of its own.
var lastWords = regexp.MustCompile(`(?m)^(?:panic|fatal error|runtime(?:/cgo)?|==[0-9]+==ERROR): .*$`)

// cause is empty if the process did not end like this.
func (t *tail) cause() string {
	return lastWords.FindString(t.String())
}

// noMemory matches the causes that mean that memory ran out; a thread needs some, too.
var noMemory = regexp.MustCompile(`out of memory|cannot allocate memory|failed to allocate|pthread_create failed`)
