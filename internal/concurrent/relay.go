// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package concurrent

import (
	"cmp"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Panic is a panic that was caught.
type Panic struct {
	// Value is the argument of panic.
	Value any
	// Place is where the panic happened: the last two elements of the path of the file, and the line.
	Place string
	// Stack is that of the goroutine with the panic.
	Stack []byte
}

// String returns value and place, for panics that are not caught.
func (p *Panic) String() string { return fmt.Sprintf("%v (%s)", p.Value, p.Place) }

// NewPanic returns the panic with a recovered value. Call it in the deferred function that has recovered.
func NewPanic(value any) *Panic {
	if carried, ok := value.(*Panic); ok {
		return carried
	}
	return &Panic{Value: value, Place: place(), Stack: debug.Stack()}
}

// Carrier carries the first panic of several goroutines. It is safe for concurrent use. The zero value is ready for
// use.
type Carrier struct {
	mu    sync.Mutex
	first *Panic
}

// Catch catches a panic of the function that defers it. It must be deferred directly.
func (c *Carrier) Catch() {
	value := recover()
	if value == nil {
		return
	}
	caught := NewPanic(value)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first = cmp.Or(c.first, caught)
}

// Deliver panics with a *Panic if one was caught. Call it when all goroutines have ended.
func (c *Carrier) Deliver() {
	if c.first != nil {
		panic(c.first) //nolint:forbidigo // it was one already, and who waits must not go on
	}
}

// place returns where the panic that is being caught happened: the call of panic, or the operation that has failed. If
// that is in the standard library, it is where that was called.
func place() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	first := ""
	panicking := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(frame.Function, "runtime."):
			at := fmt.Sprintf("%s/%s:%d", path.Base(path.Dir(frame.File)), path.Base(frame.File), frame.Line)
			if !isStandard(frame.Function) {
				return at
			}
			first = cmp.Or(first, at)
		}
		if !more {
			return cmp.Or(first, "unknown place")
		}
	}
}

// isStandard reports whether a function belongs to the standard library: the first element of its path has no dot, and
// it is not in the program itself.
func isStandard(function string) bool {
	element, _, hasPath := strings.Cut(function, "/")
	if !hasPath {
		return !strings.HasPrefix(function, "main.")
	}
	return !strings.Contains(element, ".")
}
